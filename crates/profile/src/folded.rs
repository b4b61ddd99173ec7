//! Folded stacks: a line for each stack, which most tools for flame graphs read.
//!
//! `THREAD;OUTERMOST;…;INNERMOST SAMPLES`. Functions of the kernel end in `_[k]`, and labels, which are no functions, are in
//! `<>`. Files of functions are not written. A semicolon in a name becomes a colon, and a control character a space.

use std::fmt::Write;
use std::time::Duration;

use thiserror::Error;

use crate::Stacks;
use crate::stacks::{Frame, FrameKind, Losses, SampleSource, StacksBuilder};

/// How functions of the kernel end.
const KERNEL: &str = "_[k]";

/// Most frames of a stack: a text may come from elsewhere.
const MOST_FRAMES: usize = 4096;

/// Most samples: sums of them are exact, and times are durations.
const MOST_SAMPLES: u64 = 1 << 53;

/// Why a text is not a profile.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: {reason}: write THREAD;FRAME;… SAMPLES")]
pub struct FoldedError {
    /// Line number, from 1.
    pub line: usize,
    /// What is wrong.
    pub reason: &'static str,
}

/// A profile as folded stacks.
pub fn write(stacks: &Stacks) -> String {
    let mut text = String::new();
    for thread in &stacks.threads {
        for stack in &thread.stacks {
            push_name(&mut text, &thread.name);
            for frame in &stack.frames {
                let frame = &stacks.frames[*frame as usize];
                text.push(';');
                match frame.kind {
                    FrameKind::User => push_name(&mut text, &frame.name),
                    FrameKind::Kernel => {
                        push_name(&mut text, &frame.name);
                        text.push_str(KERNEL);
                    }
                    FrameKind::Label => {
                        text.push('<');
                        push_name(&mut text, &frame.name);
                        text.push('>');
                    }
                }
            }
            // Writing to a string does not fail.
            let _ = writeln!(text, " {}", stack.samples);
        }
    }
    text
}

fn push_name(text: &mut String, name: &str) {
    text.extend(name.chars().map(|c| match c {
        ';' => ':',
        c if c.is_control() => ' ',
        c => c,
    }));
}

/// Reads folded stacks. The text does not say what a sample stands for: `source` and `period` do.
///
/// ```
/// use std::time::Duration;
/// use profile::{folded, stacks::SampleSource};
/// let stacks = folded::parse("nginx;main;read_[k] 3\n", SampleSource::CpuClock, Duration::from_millis(10))?;
/// assert_eq!(stacks.time(), Duration::from_millis(30));
/// assert_eq!(folded::write(&stacks), "nginx;main;read_[k] 3\n");
/// # Ok::<(), folded::FoldedError>(())
/// ```
pub fn parse(text: &str, source: SampleSource, period: Duration) -> Result<Stacks, FoldedError> {
    let mut builder = StacksBuilder::default();
    let (mut samples, mut has_kernel) = (0_u64, false);
    for (at, line) in text.lines().enumerate() {
        let error = |reason| FoldedError { line: at + 1, reason };
        if line.trim().is_empty() {
            continue;
        }
        let (stack, count) = line.rsplit_once(' ').ok_or_else(|| error("there is no number of samples"))?;
        let count: u64 = count.parse().map_err(|_| error("the number of samples is not a whole number"))?;
        samples = samples.saturating_add(count);
        if samples > MOST_SAMPLES {
            return Err(error("the samples are too many"));
        }
        let mut names = stack.split(';');
        let thread = names.next().unwrap_or_default();
        let frames: Vec<Frame> = names.map(read_frame).collect();
        if frames.len() > MOST_FRAMES {
            return Err(error("the stack has more than 4096 frames"));
        }
        has_kernel |= frames.iter().any(|frame| frame.kind == FrameKind::Kernel);
        builder.add(thread, frames, count);
    }
    let (frames, threads) = builder.build();
    Ok(Stacks {
        source,
        period,
        length: Duration::ZERO,
        has_kernel,
        frames,
        threads,
        losses: Losses::default(),
        notes: Vec::new(),
        cost: Duration::ZERO,
        running: None,
    })
}

fn read_frame(text: &str) -> Frame {
    let label = text.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
    let (name, kind) = match (text.strip_suffix(KERNEL), label) {
        (Some(name), _) => (name, FrameKind::Kernel),
        (None, Some(name)) => (name, FrameKind::Label),
        (None, None) => (text, FrameKind::User),
    };
    Frame { name: name.to_owned(), module: String::new(), kind }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PERIOD: Duration = Duration::from_millis(10);

    fn parse(text: &str) -> Result<Stacks, FoldedError> {
        super::parse(text, SampleSource::CpuClock, PERIOD)
    }

    #[test]
    fn a_line_without_a_number_is_refused_with_its_number() {
        let error = parse("nginx;main 1\nnginx;main many\n").expect_err("`many` is no number");
        let said = "line 2: the number of samples is not a whole number: write THREAD;FRAME;… SAMPLES";
        assert_eq!(error.to_string(), said);
        assert!(parse("nginx\n").is_err());
        assert!(parse(&format!("a;b {0}\na;b {0}\n", 1_u64 << 53)).is_err());
        assert!(parse(&format!("a{} 1\n", ";b".repeat(5000))).is_err());
    }

    #[test]
    fn equal_stacks_are_added() {
        let stacks = parse("t;a;b 1\nt;a;b 2\nt;a 4\n\n").expect("folded stacks");
        assert_eq!(stacks.samples(), 7);
        assert_eq!(stacks.threads[0].stacks.len(), 2);
    }

    #[test]
    fn a_semicolon_in_a_name_does_not_end_a_frame() {
        let mut builder = StacksBuilder::default();
        let frame = Frame { name: "<[u8; 4]>::f\n".into(), module: String::new(), kind: FrameKind::User };
        builder.add("t", [frame], 1);
        let (frames, threads) = builder.build();
        let stacks = Stacks { frames, threads, ..parse("").expect("no stacks") };
        assert_eq!(write(&stacks), "t;<[u8: 4]>::f  1\n");
    }

    fn names() -> impl Strategy<Value = String> {
        "[a-zA-Z_:<>\\[\\]+ ~()*&,.0-9ü-]{0,12}"
    }

    fn any_stacks() -> impl Strategy<Value = Stacks> {
        let frame =
            (names(), prop_oneof![Just(FrameKind::User), Just(FrameKind::Kernel), Just(FrameKind::Label)]);
        let frame = frame.prop_map(|(name, kind)| {
            // What is written as another kind is read as it: the format has no escapes.
            let name = if kind == FrameKind::User { format!("u{name}u") } else { name };
            Frame { name, module: String::new(), kind }
        });
        let stack = (names(), prop::collection::vec(frame, 0..6), 1..1_000_000_u64);
        prop::collection::vec(stack, 0..20).prop_map(|added| {
            let mut builder = StacksBuilder::default();
            let has_kernel =
                added.iter().any(|(_, stack, _)| stack.iter().any(|f| f.kind == FrameKind::Kernel));
            for (thread, stack, samples) in added {
                builder.add(&thread, stack, samples);
            }
            let (frames, threads) = builder.build();
            Stacks { has_kernel, frames, threads, ..parse("").expect("no stacks") }
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(stacks in any_stacks()) {
            prop_assert_eq!(parse(&write(&stacks)), Ok(stacks));
        }

        /// No text panics, and what is read is written as itself.
        #[test]
        fn any_text_is_read_or_refused(text in "([a-z;<>_\\[\\]k ]{0,20}[ ;][0-9x]{0,21}\n?){0,8}|\\PC{0,80}") {
            if let Ok(stacks) = parse(&text) {
                prop_assert_eq!(parse(&write(&stacks)), Ok(stacks));
            }
        }
    }
}
