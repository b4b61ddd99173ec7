//! `io_uring(7)`: a thread has as many operations under way as its depth, and hands each to the kernel as it begins, so
//! that the device is not kept waiting for those that begin with it (fio's default too, `iodepth_batch_submit=1`).
//! Handed over together with the next wait they were 10 % fewer at depth 16.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use io_uring::types::Fd;
use io_uring::{IoUring, opcode};
use rand_pcg::Pcg64Mcg;

use super::target::{Buffer, Cursor, OPERATIONS, READ, Target};
use crate::RunnerError;
use crate::loops::{Ended, Queue};

/// Transfers of which many are under way.
pub struct Uring<'a>(pub Target<'a>);

/// What one thread has.
pub struct Hand {
    ring: IoUring,
    /// Whether its thread has begun to use it.
    is_enabled: bool,
    file: File,
    cursor: Cursor,
    places: Vec<Place>,
    /// Transfers that the kernel has.
    under_way: usize,
}

/// An operation that is under way.
struct Place {
    buffer: Buffer,
    operation: usize,
    /// Transfers that it still is, with the one that is under way.
    left: u64,
    /// Of that one.
    offset: u64,
    moved: usize,
}

impl Uring<'_> {
    /// Makes the operation's next transfer ready, from its first byte.
    fn go_on(&self, hand: &mut Hand, place: usize, rng: &mut Pcg64Mcg) {
        hand.places[place].offset = self.0.offset(&mut hand.cursor, rng);
        hand.places[place].moved = 0;
        hand.submit(place);
    }
}

impl Queue for Uring<'_> {
    type Hand = Hand;

    fn operations(&self) -> Vec<String> {
        OPERATIONS.map(str::to_owned).to_vec()
    }

    fn depth(&self) -> usize {
        self.0.options.depth as usize
    }

    fn bytes_each(&self) -> u64 {
        self.0.bytes_each()
    }

    fn hand(&self) -> Result<Hand, RunnerError> {
        let depth = self.0.options.depth;
        let (ring, is_enabled) = ring(depth).map_err(|e| {
            let mend =
                "take engine=psync, or allow it (sysctl kernel.io_uring_disabled=0, a container's seccomp)";
            RunnerError::of(&format!("no io_uring of {depth} entries ({mend})"), e)
        })?;
        let place = |_| Place { buffer: self.0.buffer(), operation: READ, left: 0, offset: 0, moved: 0 };
        let places = (0..depth).map(place).collect();
        Ok(Hand { ring, is_enabled, file: self.0.open()?, cursor: self.0.cursor(), places, under_way: 0 })
    }

    fn begin(&self, hand: &mut Hand, place: usize, operation: usize, rng: &mut Pcg64Mcg) {
        hand.places[place].operation = operation;
        hand.places[place].left = self.0.transfers();
        self.go_on(hand, place, rng);
    }

    fn wait(&self, hand: &mut Hand, rng: &mut Pcg64Mcg, ended: &mut Vec<Ended>) {
        while ended.is_empty() {
            hand.wait();
            while let Some((place, moved)) = hand.take() {
                match hand.account(place, moved) {
                    Err(what) => ended.push(Ended { place, outcome: Err(what) }),
                    Ok(false) => hand.submit(place),
                    Ok(true) if hand.places[place].left > 0 => self.go_on(hand, place, rng),
                    Ok(true) => ended.push(Ended { place, outcome: Ok(()) }),
                }
            }
        }
    }
}

/// A ring that runs completions when its thread asks for them and does not interrupt it (`io_uring_setup(2)`,
/// `IORING_SETUP_DEFER_TASKRUN`), as fio's; a plain one on kernels before 6.1. It belongs to the thread that enables it.
fn ring(depth: u32) -> io::Result<(IoUring, bool)> {
    let deferring = IoUring::builder()
        .setup_single_issuer()
        .setup_coop_taskrun()
        .setup_defer_taskrun()
        .setup_r_disabled()
        .build(depth);
    deferring.map(|ring| (ring, false)).or_else(|_| Ok((IoUring::new(depth)?, true)))
}

impl Hand {
    /// Gives the kernel what is left of a place's transfer.
    fn submit(&mut self, place: usize) {
        self.push(place);
        self.enter(0);
    }

    /// Makes what is left of a place's transfer ready for the kernel.
    #[expect(
        unsafe_code,
        reason = "the kernel is given addresses: those of buffers that it has to itself until it is done"
    )]
    fn push(&mut self, place: usize) {
        let fd = Fd(self.file.as_raw_fd());
        let Place { buffer, operation, offset, moved, .. } = &mut self.places[place];
        let rest = &mut buffer.bytes()[*moved..];
        let (begin, length) = (rest.as_mut_ptr(), rest.len() as u32);
        let offset = *offset + *moved as u64;
        let entry = if *operation == READ {
            opcode::Read::new(fd, begin, length).offset(offset).build()
        } else {
            opcode::Write::new(fd, begin, length).offset(offset).build()
        };
        // SAFETY: the file and the buffers live until nothing is under way any more, which `drop` waits for, and a
        // place's buffer is not touched while its transfer is.
        let pushed = unsafe { self.ring.submission().push(&entry.user_data(place as u64)) };
        pushed.expect("there is an entry for each place");
        self.under_way += 1;
    }

    /// Waits until a transfer has ended.
    fn wait(&mut self) {
        if self.ring.completion().is_empty() {
            self.enter(1);
        }
    }

    /// Hands over what is ready, and waits until so many transfers have ended.
    fn enter(&mut self, ends: usize) {
        if !self.is_enabled {
            self.ring.submitter().register_enable_rings().expect("it was made disabled");
            self.is_enabled = true;
        }
        loop {
            match self.ring.submit_and_wait(ends) {
                Ok(_) => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => panic!("io_uring_enter(2) on a ring that was made well: {error}"),
            }
        }
    }

    /// A transfer that has ended: its place, and the bytes that it has moved or a negative error number.
    fn take(&mut self) -> Option<(usize, i32)> {
        let entry = self.ring.completion().next()?;
        self.under_way -= 1;
        Some((entry.user_data() as usize, entry.result()))
    }

    /// Whether that was all of the transfer.
    fn account(&mut self, place: usize, moved: i32) -> Result<bool, String> {
        let place = &mut self.places[place];
        match usize::try_from(moved) {
            Err(_) => Err(io::Error::from_raw_os_error(-moved).to_string()),
            Ok(0) => Err("the file ends there".to_owned()),
            Ok(moved) => {
                place.moved += moved;
                let is_whole = place.moved == place.buffer.bytes().len();
                place.left -= u64::from(is_whole);
                Ok(is_whole)
            }
        }
    }
}

impl Drop for Hand {
    fn drop(&mut self) {
        while self.under_way > 0 {
            self.wait();
            while self.take().is_some() {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use clap::{Args, Command, FromArgMatches};
    use rand::SeedableRng;

    use super::*;
    use crate::block::options::Options;

    #[test]
    fn every_place_ends_once_and_what_is_written_lies_in_its_slots() -> Result<(), Box<dyn std::error::Error>>
    {
        let file = tempfile::NamedTempFile::new()?;
        fs::write(file.path(), [0; 4096])?;
        let words =
            ["block", "--directory=/", "--buffer=512", "--amount=1024", "--depth=4", "--pattern=sequential"];
        let matches = Options::augment_args(Command::new("block")).get_matches_from(words);
        let options = Options::from_arg_matches(&matches)?;
        let uring = Uring(Target::new(Path::new(file.path()), &options, 8));
        let (mut hand, mut rng) = (uring.hand()?, Pcg64Mcg::seed_from_u64(1));
        // Four writes of two transfers each are the whole file, once.
        (0..4).for_each(|place| uring.begin(&mut hand, place, 1, &mut rng));
        let mut ended = Vec::new();
        while ended.len() < 4 {
            let mut some = Vec::new();
            uring.wait(&mut hand, &mut rng, &mut some);
            ended.extend(some);
        }
        assert!(ended.iter().all(|one| one.outcome.is_ok()));
        let mut places: Vec<usize> = ended.iter().map(|one| one.place).collect();
        places.sort_unstable();
        assert_eq!((places, hand.under_way), (vec![0, 1, 2, 3], 0));
        assert!(fs::read(file.path())? == uring.0.buffer().bytes().repeat(8));
        Ok(())
    }
}
