//! Fuzzes the log of mail servers: lines of two servers in turn. The first byte is the time between two of them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use traffic::mail::ledger::MailLedger;

fuzz_target!(|data: &[u8]| {
    let Some((seconds, text)) = data.split_first() else { return };
    let mut ledger = MailLedger::new(2, 600);
    let (mut now_s, mut lines) = (0, 0);
    for (number, line) in text.split(|byte| *byte == b'\n').enumerate() {
        now_s += u64::from(*seconds);
        lines += 1;
        ledger.record(number % 2, line, now_s);
    }
    for server in 0..2 {
        let window = ledger.take(server, now_s, true);
        assert!(window.lines <= lines && window.queued <= lines && window.delivered_twice <= lines);
        assert!(window.overdue <= window.queued && window.oldest_queued_s <= now_s);
        assert!((window.queued == 0) <= (window.oldest_queued_s == 0));
    }
});
