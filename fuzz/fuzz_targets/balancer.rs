//! Fuzzes what a load balancer answers, logs and has in its configuration. The first byte chooses which of them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use traffic::balancer::haproxy::{answers, configuration};
use traffic::balancer::log::receiver::ReceivedLog;

fuzz_target!(|data: &[u8]| {
    let Some((which, rest)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(rest);
    match which % 6 {
        0 => drop(answers::info(&text)),
        1 => {
            if let Ok(Some(backend)) = answers::statistics(&text, "b") {
                assert!(backend.servers.len() <= answers::MOST_ROWS);
            }
        }
        2 => {
            if let Ok(servers) = answers::servers(&text, "b") {
                assert!(servers.len() <= answers::MOST_ROWS);
            }
        }
        3 => {
            if let Err(words) = answers::done(&text) {
                assert!(!words.contains(char::is_control) && words.len() < 300);
            }
        }
        4 => {
            for found in configuration::obstacles(&text, "b") {
                assert!((1..=text.lines().count()).contains(&found.line));
            }
        }
        _ => {
            let mut received = ReceivedLog::default();
            received.count(rest, "b");
            let lines: u64 = received.servers.values().map(|server| server.lines).sum();
            assert_eq!(lines + received.elsewhere + received.unreadable, 1);
        }
    }
});
