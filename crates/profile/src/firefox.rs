//! A profile that Firefox Profiler (profiler.firefox.com) opens, in its processed format.
//!
//! The times of single samples are not kept. So each stack is one sample with its number of samples as the weight, one after
//! the other; the views that sum stacks (call tree, flame graph) are exact, and the timeline is not.

use std::time::{Duration, SystemTime};

use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, CpuDelta, Frame as FirefoxFrame, FrameFlags, FrameInfo, Profile,
    SamplingInterval, Timestamp, WeightType,
};

use crate::Stacks;
use crate::stacks::{Frame, FrameKind};

/// The colours of functions.
struct Categories {
    user: CategoryHandle,
    kernel: CategoryHandle,
    wait: CategoryHandle,
}

/// A profile as JSON. `title` names what was profiled, and `begin` is when.
pub fn write(stacks: &Stacks, title: &str, begin: SystemTime) -> String {
    let interval = SamplingInterval::from_nanos(nanoseconds(stacks.period).max(1));
    let mut profile = Profile::new(title, begin.into(), interval);
    let start = Timestamp::from_nanos_since_reference(0);
    let process = profile.add_process(title, 0, start);
    let categories = Categories {
        user: profile.add_category("User", CategoryColor::Yellow),
        kernel: profile.add_category("Kernel", CategoryColor::Orange),
        wait: profile.add_category("Wait", CategoryColor::Blue),
    };
    let mut frames = Vec::new();
    for frame in &stacks.frames {
        let category = match frame.kind {
            FrameKind::User => categories.user,
            FrameKind::Kernel => categories.kernel,
            FrameKind::Label => categories.wait,
        };
        let name = FirefoxFrame::Label(profile.intern_string(&shown(frame)));
        frames.push(FrameInfo { frame: name, category_pair: category.into(), flags: FrameFlags::empty() });
    }
    for (at, thread_stacks) in stacks.threads.iter().enumerate() {
        let thread = profile.add_thread(process, at as u32, start, at == 0);
        profile.set_thread_name(thread, &thread_stacks.name);
        profile.set_thread_samples_weight_type(thread, WeightType::Samples);
        let mut end = 0_u64;
        for stack in &thread_stacks.stacks {
            let list: Vec<FrameInfo> =
                stack.frames.iter().map(|frame| frames[*frame as usize].clone()).collect();
            let handle = profile.intern_stack_frames(thread, list.into_iter());
            let weight = i32::try_from(stack.samples).unwrap_or(i32::MAX);
            // The CPU time of a sample is what was used before it.
            let spent = nanoseconds(stacks.period).saturating_mul(stack.samples);
            end = end.saturating_add(spent);
            let time = Timestamp::from_nanos_since_reference(end);
            profile.add_sample(thread, time, handle, CpuDelta::from_nanos(spent), weight);
        }
        profile.set_thread_end_time(thread, Timestamp::from_nanos_since_reference(end));
    }
    profile.set_symbolicated(true);
    // All of its values have a form in JSON.
    serde_json::to_string(&profile).unwrap_or_default()
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A function's name with its file. The name of a function without symbols has its file already.
fn shown(frame: &Frame) -> String {
    let has_file = frame.module.is_empty() || frame.name.starts_with('[') || frame.kind == FrameKind::Kernel;
    if has_file { frame.name.clone() } else { format!("{} ({})", frame.name, frame.module) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded;
    use crate::stacks::SampleSource;
    use serde_json::Value;

    fn written(text: &str) -> Value {
        let stacks =
            folded::parse(text, SampleSource::CpuClock, Duration::from_millis(10)).expect("folded stacks");
        let json = write(&stacks, "nginx", SystemTime::UNIX_EPOCH);
        serde_json::from_str(&json).expect("JSON")
    }

    #[test]
    fn each_thread_has_its_stacks_with_their_weights() {
        let profile = written("nginx;main;send_[k] 3\nnginx;main 1\npool;work 2\n");
        let threads = profile["threads"].as_array().expect("threads");
        assert_eq!(threads.len(), 2);
        assert_eq!(threads[0]["name"], "nginx");
        assert_eq!(threads[0]["samples"]["weight"], serde_json::json!([1, 3]));
        assert_eq!(threads[0]["samples"]["weightType"], "samples");
        assert_eq!(profile["meta"]["interval"], 10.0);
        // main, and send below it.
        assert_eq!(threads[0]["stackTable"]["prefix"], serde_json::json!([null, 0]));
        assert!(profile.to_string().contains("\"send\""));
    }

    #[test]
    fn an_empty_profile_is_a_profile() {
        assert_eq!(written("")["meta"]["product"], "nginx");
    }
}
