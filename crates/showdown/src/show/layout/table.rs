//! A plain table with a head: the first column to the left, the others to the right, two blanks between.

use std::borrow::Cow;
use std::fmt::Write;

use archive::printable::one_line;

use crate::color;

/// Lays out rows of equal length, of which the first is the head. Each line is indented by two blanks.
pub fn table(rows: &[Vec<String>]) -> String {
    table_with_grey(rows, |_| false)
}

/// The same, with some rows in grey: their figures do not count. Rows are numbered from 0, the head.
pub fn table_with_grey(rows: &[Vec<String>], is_grey: impl Fn(usize) -> bool) -> String {
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
        out.push_str(&match number {
            0 => color::heading(line),
            _ if is_grey(number) => color::grey(line),
            _ => line.to_owned(),
        });
        out.push('\n');
    }
    out
}

/// The same with a sentence in the last column, to the left. On a terminal it is cut at its width.
pub fn table_within(rows: &[Vec<String>], terminal: Option<usize>) -> String {
    let (figures, sentences): (Vec<Vec<String>>, Vec<&String>) =
        rows.iter().filter_map(|row| row.split_last().map(|(last, others)| (others.to_vec(), last))).unzip();
    let lines = table(&figures);
    let plain = |line: &str| anstream::adapter::strip_str(line).to_string().chars().count();
    let widest = lines.lines().map(plain).max().unwrap_or(0);
    let left = terminal.map_or(usize::MAX, |columns| columns.saturating_sub(widest + 2).max(NARROWEST));
    let mut out = String::new();
    for (number, (line, sentence)) in lines.lines().zip(sentences).enumerate() {
        let sentence = cut(&one_line(sentence), left);
        let sentence = if number == 0 { color::heading(&sentence) } else { sentence };
        let pad = " ".repeat(widest - plain(line));
        let _ = writeln!(out, "{line}{pad}  {sentence}");
    }
    out
}

/// The fewest characters of a sentence.
const NARROWEST: usize = 20;

/// The begin of a text, with a mark where something is left out.
fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let begin: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", begin.trim_end())
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
    fn a_sentence_is_cut_at_the_width_of_the_terminal() {
        let rows = [["run", "trials", "verdict"], ["1", "7 of 12", "nginx has 2.19 × apache's throughput"]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec());
        let plain = |terminal| anstream::adapter::strip_str(&table_within(&rows, terminal)).to_string();
        assert_eq!(plain(Some(40)), "  run   trials  verdict\n  1    7 of 12  nginx has 2.19 × apache…\n");
        assert!(plain(None).ends_with("apache's throughput\n"));
    }

    #[test]
    fn columns_line_up() {
        let rows = [vec![String::new(), "p50".to_owned()], vec!["response".to_owned(), "7 µs".to_owned()]];
        let plain = anstream::adapter::strip_str(&table(&rows)).to_string();
        assert_eq!(plain, "             p50\n  response  7 µs\n");
    }

    #[test]
    fn a_row_that_does_not_count_is_grey() {
        let rows =
            [["", "value"], ["nginx", "–"], ["apache", "7/s"]].map(|row| row.map(str::to_owned).to_vec());
        let text = table_with_grey(&rows, |number| number == 2);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1..], ["  nginx       –", "  \u{1b}[2mapache    7/s\u{1b}[0m"], "{text:?}");
    }
}
