//! Whether a workload's server has what a tuning sets, and whether a tuning may set it.

use workload::definition::{KnobType, ServerDefinition, TextForm};
use workload::is_kernel_setting;

use crate::tuning::Tuning;

/// Why a tuning cannot be applied to a server; none if it can. Values are checked where they are known, before a start.
pub fn why_not_fit(tuning: &Tuning, server: &ServerDefinition) -> Option<String> {
    if !tuning.is_for(&server.name) {
        return Some(format!("it is for {}", tuning.servers.join(", ")));
    }
    let names = || tuning.levels.iter().flat_map(|level| level.set.keys());
    let mut of_server = names().filter(|name| !is_kernel_setting(name));
    if let Some(missing) = of_server.find(|name| server.knob(name).is_err()) {
        return Some(format!("{} has no knob {missing}", server.name));
    }
    let what = names().find_map(|name| Some((name, what_no_tuning_chooses(server, name)?)));
    what.map(|(name, what)| format!("{name} is {what}, which no tuning chooses: compare it as a variant"))
}

/// What a knob names, if that is something that runs, or a place of this machine: a tuning may come from anybody.
fn what_no_tuning_chooses(server: &ServerDefinition, name: &str) -> Option<&'static str> {
    let KnobType::Text(rule) = &server.knob(name).ok()?.knob_type else { return None };
    match rule.form? {
        TextForm::Program => Some("a program"),
        TextForm::Library => Some("a library"),
        TextForm::Directory => Some("a directory"),
        TextForm::File => Some("a file"),
        TextForm::Word => None,
    }
}

#[cfg(test)]
mod tests {
    use workload::Catalogue;
    use workload::definition::{BINARY, SourceText};

    use super::*;
    use crate::tuning_file;

    #[test]
    fn a_tuning_starts_no_program_and_chooses_no_path() {
        let workloads = Catalogue::with("/nowhere").all().into_iter().filter_map(|(_, found)| found.ok());
        let mut seen = 0;
        for server in workloads.flat_map(|workload| workload.servers) {
            for knob in &server.knobs {
                let KnobType::Text(rule) = &knob.knob_type else { continue };
                if !rule.form.is_some_and(|form| form != TextForm::Word) {
                    continue;
                }
                seen += 1;
                let set = format!("[[level]]\nset = {{ {} = \"/tmp/x/not-it\" }}\n", knob.name);
                let about =
                    "title = \"t\"\nabout = \"a\"\nscope = \"server\"\nundo = \"u\"\nsource = \"s\"\n";
                let text = format!("{about}{set}");
                let read = tuning_file::read("x", SourceText { file: "x.toml", text: &text });
                if knob.name == BINARY {
                    let error = read.expect_err("it is refused at reading").to_string();
                    assert!(error.contains("binary is a program, which no tuning chooses"), "{error}");
                    continue;
                }
                let why = why_not_fit(&read.expect("a tuning"), &server).unwrap_or_default();
                assert!(why.contains("which no tuning chooses"), "{} {}: {why}", server.name, knob.name);
            }
        }
        assert!(seen > 5, "servers have a program to choose");
    }
}
