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

/// What a cell has where there is nothing to say.
const NOTHING: &str = "–";

/// A row with a cell for each item.
pub fn row<T>(head: &str, items: &[T], cell: impl Fn(&T) -> Option<String>) -> Vec<String> {
    let cells = items.iter().map(|item| cell(item).unwrap_or_else(|| NOTHING.to_owned()));
    std::iter::once(head.to_owned()).chain(cells).collect()
}

/// Leaves rows out in which no item has anything to say. The head has no name.
pub fn without_empty(mut rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    rows.retain(|row| row[0].is_empty() || row.iter().skip(1).any(|cell| cell != NOTHING));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_in_which_nobody_has_anything_to_say_is_left_out() {
        let counted = |least: u32| move |count: &u32| (*count >= least).then(|| count.to_string());
        let rows =
            vec![row("", &[1, 2], counted(3)), row("two", &[1, 2], counted(2)), row("no", &[1], counted(2))];
        let left: Vec<String> = without_empty(rows).iter().map(|row| row.join(" ")).collect();
        assert_eq!(left, [" – –", "two – 2"]);
    }

    #[test]
    fn columns_line_up() {
        let rows = [vec![String::new(), "p50".to_owned()], vec!["response".to_owned(), "7 µs".to_owned()]];
        let plain = anstream::adapter::strip_str(&table(&rows)).to_string();
        assert_eq!(plain, "             p50\n  response  7 µs\n");
    }
}
