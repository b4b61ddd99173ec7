//! Finds counters by name in the statistics that servers print.
//!
//! Two forms cover all of these servers: a name with its number on one line, and names on one line with their numbers
//! on the next.
//!
//! | server | output |
//! |---|---|
//! | Apache httpd, `/server-status?auto` | `Total Accesses: 42` |
//! | memcached, `stats` | `STAT cmd_get 42` |
//! | Redis, `INFO commandstats` | `cmdstat_get:calls=42,usec=80,…` |
//! | Prometheus text format | [`super::exposition`] parses it |
//! | JSON | `{"requests": 42}` |
//! | Postfix and Exim, logs | no counters: [`super::log_counter`] counts how often a text occurs |
//! | nginx, `stub_status` | `server accepts handled requests`, and below it ` 7 7 42`, aligned at the right |

use super::exposition::{self, MalformedMetrics};

/// The sum of all numbers of this name on a page; none if there is none. Metrics of Prometheus are parsed as such.
pub fn of_page(text: &str, name: &str) -> Result<Option<f64>, MalformedMetrics> {
    if exposition::is_exposition(text) { exposition::sum(text, name) } else { Ok(value(text, name)) }
}

/// The sum of all numbers of this name; none if there is none.
pub fn value(text: &str, name: &str) -> Option<f64> {
    let on_lines: Vec<f64> = text.lines().filter_map(|line| on_line(line, name)).collect();
    if !on_lines.is_empty() {
        return Some(on_lines.iter().sum());
    }
    text.lines().zip(text.lines().skip(1)).find_map(|(names, numbers)| in_table(names, numbers, name))
}

/// The number after the name.
fn on_line(line: &str, name: &str) -> Option<f64> {
    line.match_indices(name).find_map(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + name.len()..]);
        let continues = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if before.ends_with(continues) || after.starts_with(continues) {
            return None;
        }
        let after = after.trim_start_matches(['"', ':', '=', ' ', '\t']);
        // A minus may belong to an exponent, or be what separates the number from the next text.
        let number = |is_part: fn(char) -> bool| {
            let end = after.find(|c: char| !is_part(c)).unwrap_or(after.len());
            after[..end].parse().ok()
        };
        number(|c| matches!(c, '0'..='9' | '.' | 'e' | 'E' | '+' | '-'))
            .or_else(|| number(|c| matches!(c, '0'..='9' | '.' | 'e' | 'E' | '+')))
    })
}

/// The number below the name, columns counted from the right.
fn in_table(names: &str, numbers: &str, name: &str) -> Option<f64> {
    let numbers: Option<Vec<f64>> = numbers.split_whitespace().map(|word| word.parse().ok()).collect();
    let from_right = names.split_whitespace().rev().position(|word| word == name)?;
    numbers?.iter().rev().nth(from_right).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum, whole.
    fn read(text: &str, name: &str) -> Option<u64> {
        value(text, name).map(|sum| sum as u64)
    }

    #[test]
    fn a_counter_is_found_in_the_output_of_each_server() {
        let nginx = "Active connections: 1 \nserver accepts handled requests\n 7 7 42 \nReading: 0 Writing: 1 Waiting: 0 \n";
        assert_eq!((read(nginx, "requests"), read(nginx, "accepts")), (Some(42), Some(7)));
        assert_eq!(
            read("ServerVersion: x\nTotal Accesses: 42\nTotal kBytes: 9\n", "Total Accesses"),
            Some(42)
        );
        assert_eq!(read("STAT cmd_get 42\r\nSTAT cmd_get_x 1\r\nEND\r\n", "cmd_get"), Some(42));
        let redis = "cmdstat_set:calls=7,usec=9\r\ncmdstat_get:calls=42,usec=175,usec_per_call=8.33\r\n";
        assert_eq!(read(redis, "cmdstat_get:calls"), Some(42));
        let prometheus = "# HELP requests_total 5 kinds\n# TYPE requests_total counter\n\
                          requests_total{code=\"200\"} 40\nrequests_total{code=\"}\"} 2.0\n";
        assert_eq!(of_page(prometheus, "requests_total"), Ok(Some(42.0)));
        assert_eq!(of_page("Total Accesses: 42\n", "Total Accesses"), Ok(Some(42.0)));
        let small = "go_gc_duration_seconds_sum 9.1e-05\ngo_goroutines 12\n";
        assert_eq!(value(small, "go_gc_duration_seconds_sum"), Some(9.1e-5));
        assert_eq!(value("Total Accesses: 42-7", "Total Accesses"), Some(42.0));
        assert_eq!(read("{\"requests\": 42, \"errors\": 0}", "requests"), Some(42));
    }

    #[test]
    fn a_similar_name_is_not_matched() {
        assert_eq!(read("total_requests: 9\nrequests_failed: 1\n", "requests"), None);
        assert_eq!(read("requests: many\n", "requests"), None);
        assert_eq!(read("", "requests"), None);
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(requests|[a-z{}\" :=0-9.\n])*", name in "[a-z{]+") {
            let _ = read(&text, &name);
        }
    }
}
