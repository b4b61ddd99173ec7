//! The messages of each mail server, from the lines of its log: what was turned away, what is in its queue, and what was delivered twice.
//! Its memory is bounded, whatever the lines are. It has no clock.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};

use super::line::{self, MailEvent};
use crate::observation::MailWindow;

/// The most messages of a server that are followed at a time.
pub const MOST_QUEUED: usize = 200_000;

/// The deliveries that are remembered: a message that comes again after so many others is taken for a new one.
pub const MOST_DELIVERIES: usize = 500_000;

/// A message that has a Message-ID and is in no queue after this time was given up by its client.
const LONGEST_ACCEPTING_S: u64 = 60;

/// A message between its Message-ID and its removal.
#[derive(Debug)]
struct FollowedMessage {
    since_s: u64,
    /// Whether the queue manager has it. Before that, its client may still give up.
    is_queued: bool,
    is_deferred: bool,
    is_bounced: bool,
    /// A hash of its Message-ID. None for none.
    id: Option<u64>,
}

impl FollowedMessage {
    fn new(since_s: u64, id: Option<u64>) -> Self {
        Self { since_s, is_queued: false, is_deferred: false, is_bounced: false, id }
    }
}

#[derive(Debug, Default)]
struct ServerMail {
    messages: HashMap<String, FollowedMessage>,
    /// What has happened since the last window was taken.
    window: MailWindow,
    has_overflowed: bool,
}

impl ServerMail {
    /// A message, if there is a place for it.
    fn follow(&mut self, queue_id: &str, message: FollowedMessage) {
        if self.messages.len() < MOST_QUEUED || self.messages.contains_key(queue_id) {
            self.messages.insert(queue_id.to_owned(), message);
        } else {
            self.has_overflowed = true;
        }
    }
}

/// Which server has delivered a message to a recipient, for the latest deliveries.
#[derive(Debug, Default)]
struct Deliveries {
    servers: HashMap<u64, usize>,
    order: VecDeque<u64>,
}

impl Deliveries {
    /// Takes a delivery; returns the server of an earlier one.
    fn note(&mut self, key: u64, server: usize) -> Option<usize> {
        if let Some(earlier) = self.servers.get(&key) {
            return Some(*earlier);
        }
        self.servers.insert(key, server);
        self.order.push_back(key);
        if self.order.len() > MOST_DELIVERIES
            && let Some(oldest) = self.order.pop_front()
        {
            self.servers.remove(&oldest);
        }
        None
    }
}

/// The messages of several servers, which have numbers from 0.
#[derive(Debug)]
pub struct MailLedger {
    servers: Vec<ServerMail>,
    deliveries: Deliveries,
    /// Nobody can choose Message-IDs with the same hash.
    hasher: RandomState,
    /// A message that is longer in the queue is overdue.
    overdue_s: u64,
}

impl MailLedger {
    /// Without a message.
    pub fn new(servers: usize, overdue_s: u64) -> Self {
        Self {
            servers: (0..servers).map(|_| ServerMail::default()).collect(),
            deliveries: Deliveries::default(),
            hasher: RandomState::new(),
            overdue_s,
        }
    }

    /// Takes a line of a server's log at a time in seconds since the start.
    pub fn record(&mut self, server: usize, line: &[u8], now_s: u64) {
        let text = String::from_utf8_lossy(line);
        let (Some(event), Some(mail)) = (line::parse(&text), self.servers.get_mut(server)) else { return };
        mail.window.lines += 1;
        match event {
            MailEvent::Named { queue_id, message_id } => {
                let is_named = !["", "<>"].contains(&message_id);
                let id = is_named.then(|| self.hasher.hash_one(message_id));
                mail.follow(queue_id, FollowedMessage::new(now_s, id));
            }
            MailEvent::Queued { queue_id } => {
                if !mail.messages.contains_key(queue_id) {
                    mail.follow(queue_id, FollowedMessage::new(now_s, None));
                }
                if let Some(message) = mail.messages.get_mut(queue_id)
                    && !message.is_queued
                {
                    message.is_queued = true;
                    mail.window.messages += 1;
                }
            }
            MailEvent::Deferred { queue_id } => {
                if let Some(message) = mail.messages.get_mut(queue_id)
                    && !message.is_deferred
                {
                    message.is_deferred = true;
                    mail.window.deferred += 1;
                }
            }
            MailEvent::Bounced { queue_id } => {
                if let Some(message) = mail.messages.get_mut(queue_id)
                    && !message.is_bounced
                {
                    message.is_bounced = true;
                    mail.window.rejected += 1;
                }
            }
            MailEvent::Removed { queue_id } => {
                mail.messages.remove(queue_id);
            }
            MailEvent::TurnedAwayForNow => {
                mail.window.messages += 1;
                mail.window.deferred += 1;
            }
            MailEvent::TurnedAway => {
                mail.window.messages += 1;
                mail.window.rejected += 1;
            }
            MailEvent::Delivered { queue_id, recipient } => {
                if let Some(id) = mail.messages.get(queue_id).and_then(|message| message.id) {
                    self.deliver(server, self.hasher.hash_one((id, recipient)));
                }
            }
            MailEvent::Other => {}
        }
    }

    /// A second delivery counts for both servers: their logs do not say which of them the client has not understood.
    fn deliver(&mut self, server: usize, key: u64) {
        let Some(earlier) = self.deliveries.note(key, server) else { return };
        self.servers[server].window.delivered_twice += 1;
        if earlier != server {
            self.servers[earlier].window.delivered_twice += 1;
        }
    }

    /// What has happened at a server since the last call, and its queue now. `is_complete` says whether all of its log was read.
    pub fn take(&mut self, server: usize, now_s: u64, is_complete: bool) -> MailWindow {
        let Some(mail) = self.servers.get_mut(server) else { return MailWindow::default() };
        mail.messages.retain(|_, message| {
            message.is_queued || now_s.saturating_sub(message.since_s) <= LONGEST_ACCEPTING_S
        });
        let mut window = std::mem::take(&mut mail.window);
        window.queued = mail.messages.len() as u64;
        for message in mail.messages.values() {
            let age_s = now_s.saturating_sub(message.since_s);
            window.oldest_queued_s = window.oldest_queued_s.max(age_s);
            if age_s > self.overdue_s {
                window.overdue += 1;
            }
        }
        window.log_arrived = is_complete && !std::mem::take(&mut mail.has_overflowed);
        window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(ledger: &mut MailLedger, server: usize, now_s: u64, text: &str) {
        ledger.record(server, format!("Nov 30 19:00:12 mx postfix/{text}").as_bytes(), now_s);
    }

    fn accept(ledger: &mut MailLedger, server: usize, queue_id: &str, id: &str) {
        record(ledger, server, 1, &format!("cleanup[7]: {queue_id}: message-id={id}"));
        record(
            ledger,
            server,
            1,
            &format!("qmgr[7]: {queue_id}: from=<a@b>, size=1, nrcpt=1 (queue active)"),
        );
    }

    fn settle(ledger: &mut MailLedger, server: usize, queue_id: &str, status: &str) {
        record(
            ledger,
            server,
            2,
            &format!(
                "virtual[7]: {queue_id}: to=<u@x>, relay=virtual, delay=0, delays=0, dsn=2.0.0, status={status} (x)"
            ),
        );
    }

    #[test]
    fn a_message_is_in_the_queue_until_it_is_removed() {
        let mut ledger = MailLedger::new(1, 600);
        accept(&mut ledger, 0, "ABCDEF1", "<1@x>");
        accept(&mut ledger, 0, "ABCDEF2", "<2@x>");
        settle(&mut ledger, 0, "ABCDEF1", "deferred");
        settle(&mut ledger, 0, "ABCDEF1", "deferred");
        settle(&mut ledger, 0, "ABCDEF2", "sent");
        record(&mut ledger, 0, 3, "qmgr[7]: ABCDEF2: removed");
        let window = ledger.take(0, 11, true);
        assert_eq!((window.messages, window.deferred, window.delivered_twice), (2, 1, 0));
        assert_eq!((window.queued, window.oldest_queued_s, window.overdue), (1, 10, 0));
        // Its next try is no new message.
        record(&mut ledger, 0, 700, "qmgr[7]: ABCDEF1: from=<a@b>, size=1, nrcpt=1 (queue active)");
        let window = ledger.take(0, 700, true);
        assert_eq!((window.messages, window.deferred, window.queued, window.overdue), (0, 0, 1, 1));
        settle(&mut ledger, 0, "ABCDEF1", "bounced");
        record(&mut ledger, 0, 701, "qmgr[7]: ABCDEF1: removed");
        let window = ledger.take(0, 702, true);
        assert_eq!((window.rejected, window.queued, window.log_arrived), (1, 0, true));
    }

    #[test]
    fn a_client_that_gives_up_leaves_nothing_in_the_queue() {
        let mut ledger = MailLedger::new(1, 600);
        record(&mut ledger, 0, 0, "cleanup[7]: ABCDEF1: message-id=<1@x>");
        let queued: Vec<u64> = [0, 60, 61].map(|now_s| ledger.take(0, now_s, true).queued).into();
        assert_eq!(queued, [1, 1, 0]);
    }

    #[test]
    fn a_message_that_is_delivered_again_counts_for_both_servers() {
        let mut ledger = MailLedger::new(3, 600);
        for (server, queue_id, id) in [
            (0, "ABCDEF1", "<1@x>"),
            (1, "ABCDEF2", "<1@x>"),
            (1, "ABCDEF3", "<2@x>"),
            (1, "ABCDEF4", "<2@x>"),
            (2, "ABCDEF5", "<>"),
            (2, "ABCDEF6", "<>"),
        ] {
            accept(&mut ledger, server, queue_id, id);
            settle(&mut ledger, server, queue_id, "sent");
        }
        let twice: Vec<u64> = (0..3).map(|server| ledger.take(server, 3, true).delivered_twice).collect();
        assert_eq!(twice, [1, 2, 0]);
    }

    #[test]
    fn memory_is_bounded() {
        let mut mail = ServerMail::default();
        for number in 0..MOST_QUEUED {
            mail.follow(&number.to_string(), FollowedMessage::new(1, None));
        }
        mail.follow("0", FollowedMessage::new(2, None));
        assert!(!mail.has_overflowed);
        mail.follow("one more", FollowedMessage::new(1, None));
        assert_eq!((mail.messages.len(), mail.has_overflowed), (MOST_QUEUED, true));
        let mut ledger = MailLedger { servers: vec![mail], ..MailLedger::new(0, 600) };
        let arrived: Vec<bool> = [1, 1].map(|now_s| ledger.take(0, now_s, true).log_arrived).into();
        assert_eq!(arrived, [false, true]);
        let mut deliveries = Deliveries::default();
        for key in 0..=MOST_DELIVERIES as u64 {
            assert_eq!(deliveries.note(key, 0), None);
        }
        assert_eq!((deliveries.servers.len(), deliveries.note(1, 0)), (MOST_DELIVERIES, Some(0)));
        assert_eq!(deliveries.note(0, 0), None, "it was forgotten");
    }
}
