//! A plain table with a head: the first column to the left, the others to the right, two blanks between.

use std::borrow::Cow;

use archive::printable::one_line;

use crate::color;

/// Lays out rows of equal length, of which the first is the head. Each line is indented by two blanks.
pub fn table(rows: &[Vec<String>]) -> String {
    // A cell with a line break would look like several rows.
    let rows: Vec<Vec<Cow<'_, str>>> =
        rows.iter().map(|row| row.iter().map(|cell| one_line(cell)).collect()).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for (number, row) in rows.iter().enumerate() {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let pad = " ".repeat(widths[column] - cell.chars().count());
            match column {
                0 => line.extend([&**cell, &pad]),
                _ => line.extend(["  ", &pad, &**cell]),
            }
        }
        let line = line.trim_end();
        out.push_str("  ");
        out.push_str(&if number == 0 { color::heading(line) } else { line.to_owned() });
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::table;

    #[test]
    fn columns_line_up() {
        let rows = [vec![String::new(), "p50".to_owned()], vec!["response".to_owned(), "7 µs".to_owned()]];
        let plain = anstream::adapter::strip_str(&table(&rows)).to_string();
        assert_eq!(plain, "             p50\n  response  7 µs\n");
    }
}
