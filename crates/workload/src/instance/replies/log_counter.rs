//! Counts how often texts occur in a log that a server writes. Each call reads only what was written since the last one.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// How much is read at once.
const BLOCK_BYTES: usize = 256 << 10;

/// The longest log: 160 million lines of 100 bytes. A longer one may be a file of holes, which takes no space and minutes
/// to read.
const MAX_LOG_BYTES: u64 = 16 << 30;

/// The counts up to a position in a log.
#[derive(Debug, Default)]
pub struct LogCounter {
    position: u64,
    texts: Vec<TextCount>,
}

#[derive(Debug)]
struct TextCount {
    text: String,
    count: u64,
    /// The end of what was read, where it may be the beginning of the text.
    rest: Vec<u8>,
}

impl LogCounter {
    /// A counter at the beginning of a log.
    pub fn new(texts: &[String]) -> Self {
        let count = |text: &String| TextCount { text: text.clone(), count: 0, rest: Vec::new() };
        Self { position: 0, texts: texts.iter().map(count).collect() }
    }

    /// Counts on to the end of the log.
    pub fn read_on(&mut self, mut log: File) -> io::Result<()> {
        let length = log.metadata()?.len();
        if length < self.position {
            return Err(io::Error::other("it is shorter than before: the server must append to it"));
        }
        if length > MAX_LOG_BYTES {
            return Err(io::Error::other(format!("it is longer than {} GiB", MAX_LOG_BYTES >> 30)));
        }
        log.seek(SeekFrom::Start(self.position))?;
        let mut new = log.take(length - self.position);
        let mut block = vec![0; BLOCK_BYTES];
        loop {
            let count = match new.read(&mut block) {
                Ok(0) => return Ok(()),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            self.position += count as u64;
            self.texts.iter_mut().for_each(|text| text.add(&block[..count]));
        }
    }

    /// The counts in a form that [`super::counters::value`] understands. Texts that do not occur are left out.
    pub fn counts(&self) -> String {
        let found = self.texts.iter().filter(|text| text.count > 0);
        found.map(|text| format!("{}: {}", text.text, text.count)).collect::<Vec<_>>().join("\n")
    }
}

impl TextCount {
    fn add(&mut self, block: &[u8]) {
        let text = self.text.as_bytes();
        self.rest.extend_from_slice(block);
        let mut end = 0;
        for at in memchr::memmem::find_iter(&self.rest, text) {
            self.count += 1;
            end = at + text.len();
        }
        let kept = self.rest.len().saturating_sub(text.len().saturating_sub(1));
        self.rest.drain(..kept.max(end));
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::instance::replies::counters;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    #[test]
    fn occurrences_in_a_log_are_counted() -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new()?;
        file.write_all(b"1 <= a@b\n1 => c@d\nmessage-id=<1>\n2 <= a@b\n")?;
        let texts = texts(&[" <= ", "message-id=", "queued"]);
        let mut counter = LogCounter::new(&texts);
        counter.read_on(file.reopen()?)?;
        let read = |counter: &LogCounter| {
            let counts = counter.counts();
            texts
                .iter()
                .map(|text| counters::value(&counts, text).map(|count| count as u64))
                .collect::<Vec<_>>()
        };
        assert_eq!(read(&counter), [Some(2), Some(1), None]);
        file.write_all(b"3 <= a@b\n")?;
        counter.read_on(file.reopen()?)?;
        assert_eq!(read(&counter), [Some(3), Some(1), None]);
        file.as_file().set_len(3)?;
        assert!(counter.read_on(file.reopen()?).is_err_and(|error| error.to_string().contains("shorter")));
        file.as_file().set_len(MAX_LOG_BYTES + 1)?;
        assert!(counter.read_on(file.reopen()?).is_err_and(|error| error.to_string().contains("longer")));
        Ok(())
    }

    proptest::proptest! {
        #[test]
        fn a_text_is_counted_across_blocks(log in "[ab]{0,40}", text in "[ab]{1,4}", size in 1_usize..9) {
            let mut counter = LogCounter::new(std::slice::from_ref(&text));
            log.as_bytes().chunks(size).for_each(|block| counter.texts[0].add(block));
            proptest::prop_assert_eq!(counter.texts[0].count, log.matches(&text).count() as u64);
        }
    }
}
