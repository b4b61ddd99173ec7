//! CPU samples. Where the kernel permits none, a test ends without one.

use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use profile::stacks::FrameKind;
use profile::{CpuSampler, CpuSamplerOptions, ProcessSet, ProfileError, Stacks};

use super::program::{Program, skip};

/// Rounds of the burner that take a second or so of CPU time.
const ROUNDS: &str = "800";

fn start(pid: u32) -> Option<CpuSampler> {
    let options = CpuSamplerOptions { samples_per_s: 199, ..CpuSamplerOptions::default() };
    match CpuSampler::start(ProcessSet::Roots(vec![pid]), &options) {
        Ok(sampler) => Some(sampler),
        Err(refused @ ProfileError::Refused { .. }) => {
            skip(&refused.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// The samples with a function on their stack.
fn with(stacks: &Stacks, name: &str) -> u64 {
    let Some(index) = stacks.frames.iter().position(|frame| frame.name == name) else { return 0 };
    let all = stacks.threads.iter().flat_map(|thread| &thread.stacks);
    all.filter(|stack| stack.frames.contains(&(index as u32))).map(|stack| stack.samples).sum()
}

fn names(stacks: &Stacks) -> Vec<&str> {
    stacks.frames.iter().map(|frame| frame.name.as_str()).collect()
}

/// Samples a program until it has ended by itself.
fn profile_to_the_end(program: &Program) -> Option<Stacks> {
    let mut running = program.start(&[ROUNDS]);
    let sampler = start(running.pid())?;
    running.0.wait().expect("a child");
    Some(sampler.stop().expect("a profile"))
}

#[test]
fn functions_have_their_shares_and_stacks_reach_the_start_of_the_thread() {
    let Some(stacks) = profile_to_the_end(&Program::build("burner")) else { return };
    let (much, little) = (with(&stacks, "burn_much"), with(&stacks, "burn_little"));
    assert!(much > 3 * little && little > 0, "{much} and {little} of {:?}", names(&stacks));
    assert!(with(&stacks, "work") >= much + little, "{:?}", names(&stacks));
    assert!(stacks.losses.incomplete * 20 <= stacks.samples(), "{:?}", stacks.losses);
    // The innermost function has most of the time.
    assert!(with(&stacks, "turn") * 2 > stacks.samples());
    assert!(stacks.threads.iter().any(|thread| thread.name == "burn-N"), "{:?}", stacks.threads);
}

#[test]
fn how_long_threads_ran_is_counted_beside() {
    let Some(stacks) = profile_to_the_end(&Program::build("burner")) else { return };
    let running = stacks.running.expect("who may sample a program may count its time");
    let cpus = std::thread::available_parallelism().expect("CPUs").get() as u32;
    assert!(
        running > Duration::ZERO && running <= stacks.length * cpus,
        "{running:?} of {:?}",
        stacks.length
    );
}

#[test]
fn a_stripped_function_has_one_address_and_a_note_says_why() {
    let program = Program::build("burner");
    program.strip();
    let Some(stacks) = profile_to_the_end(&program) else { return };
    let unnamed: Vec<&str> =
        names(&stacks).into_iter().filter(|name| name.starts_with("[program+0x")).collect();
    // turn, burn_much, burn_little, work, main and _start, whatever instruction a sample has met.
    assert!((2..=6).contains(&unnamed.len()), "{unnamed:?}");
    assert!(stacks.notes.iter().any(|note| note.starts_with("program has no symbols")), "{:?}", stacks.notes);
    assert!(stacks.losses.incomplete * 20 <= stacks.samples(), "{:?}", stacks.losses);
}

/// Samples a program until it has used enough CPU time, and stops it.
fn profile_for_a_while(program: &Program) -> Option<Stacks> {
    let running = program.start(&["1000000"]);
    let sampler = start(running.pid())?;
    let used = || {
        let account = std::fs::read_to_string(format!("/proc/{}/stat", running.pid())).expect("it runs");
        // User time in ticks of 10 ms, field 14.
        let ticks = account.rsplit(')').next().and_then(|rest| rest.split_ascii_whitespace().nth(11));
        ticks.and_then(|ticks| ticks.parse::<u64>().ok()).expect("proc_pid_stat(5)")
    };
    while used() < 80 {
        std::thread::sleep(Duration::from_millis(50));
    }
    Some(sampler.stop().expect("a profile"))
}

#[test]
fn a_stack_with_pages_that_are_not_in_memory_is_completed() {
    let Some(stacks) = profile_for_a_while(&Program::build("hollow")) else { return };
    if stacks.losses.completed == 0 && !rustix::process::geteuid().is_root() {
        return skip("this user is forbidden to read the memory even of a child");
    }
    assert!(stacks.losses.completed > 0, "{:?}", stacks.losses);
    assert!(with(&stacks, "main") * 20 >= stacks.samples() * 19, "{:?}", names(&stacks));
    assert!(stacks.losses.incomplete * 20 <= stacks.samples(), "{:?}", stacks.losses);
}

#[test]
fn a_child_that_starts_during_the_profile_is_in_it() {
    let program = Program::build("burner");
    // It starts when its shell has read a line, and that is after the sampler has started, however busy the machine is.
    let script = format!("read -r go; {} {ROUNDS}; true", program.path().display());
    let mut shell = std::process::Command::new("sh");
    let mut shell = shell.args(["-c", &script]).stdin(Stdio::piped()).spawn().expect("a shell");
    let sampler = start(shell.id());
    shell.stdin.take().expect("a pipe").write_all(b"go\n").expect("a line");
    shell.wait().expect("a child");
    let Some(sampler) = sampler else { return };
    let stacks = sampler.stop().expect("a profile");
    assert!(with(&stacks, "burn_much") > 0, "{:?}", names(&stacks));
}

#[test]
fn a_sampler_that_is_dropped_ends() {
    let program = Program::build("burner");
    let running = program.start(&["0"]);
    drop(start(running.pid()));
}

#[test]
fn nothing_to_profile_is_an_error() {
    let started = CpuSampler::start(ProcessSet::Roots(vec![u32::MAX]), &CpuSamplerOptions::default());
    assert!(matches!(started, Err(ProfileError::NoProcesses)));
}

#[test]
fn root_sees_the_kernel() {
    if !rustix::process::geteuid().is_root() {
        return skip("only root may sample the kernel");
    }
    let program = Program::build("burner");
    let running = program.start(&["0"]);
    let Some(sampler) = start(running.pid()) else { return };
    // Reading /proc takes time in the kernel, in this process.
    let own = start(std::process::id());
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(1) {
        let _ = std::fs::read_dir("/proc").map(Iterator::count);
    }
    drop(sampler);
    let Some(own) = own else { return };
    let stacks = own.stop().expect("a profile");
    assert!(stacks.has_kernel);
    assert!(stacks.frames.iter().any(|frame| frame.kind == FrameKind::Kernel), "{:?}", names(&stacks));
}
