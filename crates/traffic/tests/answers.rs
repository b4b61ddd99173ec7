//! Answers, log lines and configurations of a balancer, changed and cut off: nothing panics, and what is read is within its bounds.

use proptest::prelude::*;
use traffic::balancer::haproxy::{answers, configuration};
use traffic::balancer::log::line::{self, MOST_LINE_BYTES};
use traffic::balancer::log::receiver::ReceivedLog;
use traffic::journal::JournalState;
use traffic::mail::ledger::MailLedger;
use traffic::mail::line::{self as mail_line, MailEvent};
use traffic::name::Name;

const INFO: &str = "Name: HAProxy\nVersion: 2.6.12\nNbproc: 1\nPid: 13251\nUptime_sec: 1\nStopping: 0\nDroppedLogs: 3\n\
                    Start_time_sec: 1795993179\n\n";
const STATE: &str = "1\n# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_iweight srv_agent_state srv_port\n\
                     3 b 1 old1 127.0.0.1 2 0 64 64 0 29081\n3 b 3 cand ::1 0 1 0 0 22 29083\n\n";
const STAT: &str = "# pxname,svname,qcur,scur,stot,econ,eresp,wretr,wredis,status,bck,hrsp_5xx,mode,algo,cookie,throttle,check_status,\n\
                    b,old1,1,2,30,4,5,6,7,no check,0,8,http,,,,,\nb,BACKEND,0,0,0,0,0,0,0,UP,0,0,http,roundrobin,SRV,,,\n\n";
const CONFIGURATION: &str = "defaults a\n option prefer-last-server\nbackend b from a\n balance roundrobin # x\n cookie \"S\\\" R\" insert\n \
                             server x 10.0.0.1:80 slowstart 3s agent-check\n";

const MAIL_LOG: &str = "Nov 30 19:00:12 mx postfix/cleanup[7]: ABCDEF1: message-id=<1@x>\n\
     Nov 30 19:00:12 mx postfix/qmgr[7]: ABCDEF1: from=<a@b>, size=1, nrcpt=1 (queue active)\n\
     Nov 30 19:00:12 mx postfix/smtpd[7]: NOQUEUE: reject: RCPT from a[192.0.2.1]: 450 4.7.1 <u@x>: no; from=<a@b> to=<u@x>\n\
     Nov 30 19:00:12 mx postfix/virtual[7]: ABCDEF1: to=<u@x>, relay=virtual, delay=0, dsn=2.0.0, status=sent (x)\n\
     Nov 30 19:00:12 mx postfix/qmgr[7]: ABCDEF1: removed\n";

/// A text with some bytes replaced, and cut off or doubled.
fn changed(text: &'static str) -> impl Strategy<Value = String> {
    let places = prop::collection::vec((0..text.len(), any::<u8>()), 0..6);
    (places, 0..=text.len(), any::<bool>()).prop_map(move |(places, end, is_doubled)| {
        let mut bytes = text.as_bytes().to_vec();
        for (at, byte) in places {
            bytes[at] = byte;
        }
        let mut changed = String::from_utf8_lossy(&bytes[..end]).into_owned();
        if is_doubled {
            changed.push_str(text);
        }
        changed
    })
}

proptest! {
    #[test]
    fn no_answer_makes_a_parser_panic(
        info in changed(INFO), state in changed(STATE), stat in changed(STAT), any in ".{0,200}"
    ) {
        let _ = answers::info(&info);
        for answer in [&info, &state, &stat, &any] {
            let _ = answers::info(answer);
            let _ = answers::weight(answer);
            if let Ok(servers) = answers::servers(answer, "b") {
                prop_assert!(servers.len() <= answer.lines().count());
            }
            if let Ok(Some(backend)) = answers::statistics(answer, "b") {
                prop_assert!(backend.servers.len() <= answer.len());
            }
            if let Err(words) = answers::done(answer) {
                prop_assert!(!words.contains(char::is_control) && words.len() < 300, "{:?}", words);
            }
        }
    }

    /// Fields are found by name, so that a later version may move them and add others.
    #[test]
    fn the_order_of_the_fields_does_not_matter(order in Just((0..17).collect::<Vec<usize>>()).prop_shuffle(), new in 0..18_usize) {
        let mut text = String::from("# ");
        for (at, row) in STAT.trim_start_matches("# ").trim_end().lines().enumerate() {
            let fields: Vec<&str> = row.split(',').collect();
            let mut moved: Vec<&str> = order.iter().map(|at| fields[*at]).collect();
            moved.insert(new, if at == 0 { "new_field" } else { "77" });
            text.push_str(&moved.join(","));
            text.push_str(",\n");
        }
        prop_assert_eq!(answers::statistics(&text, "b"), answers::statistics(STAT, "b"));
    }

    #[test]
    fn no_configuration_makes_the_reader_panic(text in changed(CONFIGURATION)) {
        for found in configuration::obstacles(&text, "b") {
            prop_assert!((1..=text.lines().count()).contains(&found.line));
        }
    }

    #[test]
    fn a_line_that_was_written_is_read(
        server in "[a-z][a-z0-9-]{0,20}", status in -1..=999_i32, total in -1..1_000_000_i64, response in -1..1_000_000_i64,
        retries in 0..5_u32, header in "[^\n]{0,80}"
    ) {
        let text = format!("{header} b/{server} {status} -- 0 0 {response} {total} {retries}\n");
        let read = line::parse(&text);
        prop_assume!(text.len() <= MOST_LINE_BYTES);
        let read = read.expect("a line of the format");
        prop_assert_eq!((read.server, read.backend, read.retries), (server.as_str(), Some("b"), retries));
        prop_assert_eq!(read.status.is_some(), status >= 0);
        prop_assert_eq!(read.response_ms.is_some(), response >= 0 && total >= 0);
    }

    #[test]
    fn every_datagram_is_counted_once(datagrams in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..50)) {
        let mut received = ReceivedLog::default();
        for datagram in &datagrams {
            received.count(datagram, "b");
        }
        let lines: u64 = received.servers.values().map(|server| server.lines).sum();
        prop_assert_eq!(lines + received.elsewhere + received.unreadable, datagrams.len() as u64);
    }

    #[test]
    fn no_line_of_a_mail_log_makes_the_reader_panic(lines in prop::collection::vec(changed(MAIL_LOG), 0..8), any in ".{0,200}") {
        let mut ledger = MailLedger::new(2, 600);
        let mut count = 0;
        for line in lines.iter().flat_map(|text| text.lines()).chain([any.as_str()]) {
            ledger.record(count % 2, line.as_bytes(), 1);
            count += 1;
        }
        for server in 0..2 {
            let window = ledger.take(server, 2, true);
            prop_assert!(window.queued + window.messages + window.deferred + window.rejected <= 3 * count as u64);
            prop_assert!(window.deferred + window.rejected <= window.messages + window.queued + window.lines);
        }
    }

    /// Whatever a client calls itself and its recipient, a line says what became of the message.
    #[test]
    fn what_became_of_a_message_is_read(
        local in "[ -~]{0,40}", reply in "[ -~]{0,80}", status in 0..3_usize
    ) {
        let local = local.replace('\\', "\\\\").replace('"', "\\\"");
        let word = ["sent", "deferred", "bounced"][status];
        let text = format!(
            "Nov 30 19:00:12 mx postfix/lmtp[7]: 4f2BqC1cVbz1k: to=<\"{local}\"@x>, relay=y[192.0.2.1]:24, delay=0.1, delays=0/0/0/0, \
             dsn=2.0.0, status={word} ({reply})"
        );
        let queue_id = "4f2BqC1cVbz1k";
        let recipient = format!("\"{local}\"@x");
        let expected = [
            MailEvent::Delivered { queue_id, recipient: &recipient },
            MailEvent::Deferred { queue_id },
            MailEvent::Bounced { queue_id },
        ][status];
        prop_assert_eq!(mail_line::parse(&text), Some(expected));
    }

    #[test]
    fn a_name_never_ends_a_command(text in ".{0,140}") {
        if let Ok(name) = text.parse::<Name>() {
            prop_assert_eq!(name.as_str().split([' ', ';', '\n', '/', '\\', '"']).count(), 1);
        }
        let _ = JournalState::of(&text);
    }
}
