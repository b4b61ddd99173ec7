//! A plain table: the first column to the left, the others to the right, two blanks between.

/// Lays out rows of equal length, each line indented by two.
pub fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::from("  ");
        for (column, cell) in row.iter().enumerate() {
            let pad = " ".repeat(widths[column] - cell.chars().count());
            match column {
                0 => line.extend([cell.as_str(), &pad]),
                _ => line.extend(["  ", &pad, cell.as_str()]),
            }
        }
        out.push_str(line.trim_end());
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
        assert_eq!(table(&rows), "             p50\n  response  7 µs\n");
    }
}
