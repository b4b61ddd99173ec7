//! News for those who watch: that an entry has changed, and new lines of its run. Who watches an entry hears of no other one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use queue::{EntryId, Token};
use tokio::sync::broadcast::{Receiver, Sender, channel};

/// News that wait for a slow reader; one that misses some looks into the store.
const MOST_WAITING: usize = 256;

/// New lines of an attempt, in order.
#[derive(Debug)]
pub struct NewLines {
    /// The token of the attempt.
    pub token: Token,
    /// The number of the first line.
    pub first: u64,
    /// The lines.
    pub lines: Vec<String>,
}

/// What is told of an entry.
#[derive(Clone, Debug)]
pub enum EntryNews {
    /// The store has something new.
    Changed,
    /// The store has these lines, and nothing else is new.
    Lines(Arc<NewLines>),
}

/// Tells who watches.
#[derive(Debug)]
pub struct Newsroom {
    /// That any entry has changed: hosts may be free, entries may wait.
    any: Sender<()>,
    entries: Mutex<HashMap<EntryId, Sender<EntryNews>>>,
}

impl Default for Newsroom {
    fn default() -> Self {
        Self { any: channel(MOST_WAITING).0, entries: Mutex::default() }
    }
}

impl Newsroom {
    /// Hears of each change, but not of lines.
    pub fn watch_all(&self) -> Receiver<()> {
        self.any.subscribe()
    }

    /// Hears of one entry.
    pub fn watch(&self, entry: EntryId) -> Receiver<EntryNews> {
        let mut entries = self.entries.lock().expect("no thread panics with it");
        entries.retain(|_, of_entry| of_entry.receiver_count() > 0);
        entries.entry(entry).or_insert_with(|| channel(MOST_WAITING).0).subscribe()
    }

    /// Tells that an entry has changed; 0 where anything may have.
    pub fn tell(&self, entry: EntryId) {
        // Nobody may watch.
        let _ = self.any.send(());
        self.send(entry, &EntryNews::Changed);
    }

    /// Tells of new lines, of an entry that has not changed.
    pub fn tell_lines(&self, entry: EntryId, lines: NewLines) {
        self.send(entry, &EntryNews::Lines(Arc::new(lines)));
    }

    fn send(&self, entry: EntryId, news: &EntryNews) {
        let mut entries = self.entries.lock().expect("no thread panics with it");
        if entry == 0 {
            // Who has nobody left that watches is forgotten.
            entries.retain(|_, of_entry| of_entry.send(news.clone()).is_ok());
        } else if entries.get(&entry).is_some_and(|of_entry| of_entry.send(news.clone()).is_err()) {
            entries.remove(&entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_watches_an_entry_hears_of_it_alone_and_of_what_may_be_anything() {
        let newsroom = Newsroom::default();
        let (mut first, mut all) = (newsroom.watch(1), newsroom.watch_all());
        newsroom.tell(2);
        newsroom.tell_lines(1, NewLines { token: 7, first: 3, lines: vec!["{}".to_owned()] });
        newsroom.tell(0);
        assert!(matches!(first.try_recv(), Ok(EntryNews::Lines(lines)) if lines.first == 3));
        assert!(matches!(first.try_recv(), Ok(EntryNews::Changed)));
        assert!(first.try_recv().is_err(), "nothing else was told of it");
        assert!(all.try_recv().is_ok() && all.try_recv().is_ok());
        assert!(all.try_recv().is_err(), "lines are no reason to ask for work again");
        drop(first);
        newsroom.tell(1);
        assert!(newsroom.entries.lock().unwrap().is_empty(), "who has gone is forgotten");
    }
}
