//! Facts that a server reports: its version, how it was built, its package.

use std::collections::BTreeMap;

use super::running::Instance;
use crate::definition::{BUILD_KNOBS, build_knobs, own_build, with_binary};
use crate::digests;

/// Facts of a server, for the fairness audit. Those of its process (libraries, allocator, limits) are in
/// [`host::ProcessFacts`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerFacts {
    /// Its version as it prints it; empty if unknown.
    pub version: String,
    /// How it was built, as it prints it; empty if unknown.
    pub build: String,
    /// Further facts by name: `package`, `protocol`, [`BUILD_KNOBS`], and of a build that a variant names `binary.sha256` instead of its
    /// package.
    pub further: BTreeMap<String, String>,
}

impl Instance {
    /// The facts. Those that cannot be found are empty: a trial does not depend on them.
    pub fn facts(&self) -> ServerFacts {
        let protocol = format!("{:?}", self.server.protocol).to_lowercase();
        let mut further = BTreeMap::from([("protocol".to_owned(), protocol)]);
        let build_knobs = build_knobs(&self.server.start, &self.server.knobs);
        if !build_knobs.is_empty() {
            further.insert(BUILD_KNOBS.to_owned(), build_knobs.join(", "));
        }
        let installed = self.server.packages.values().find_map(|package| {
            self.options.host.package_version(package).map(|version| format!("{package} {version}"))
        });
        match own_build(&self.knobs) {
            Some(path) => {
                let hash =
                    digests::of_program(path).unwrap_or_else(|error| format!("cannot be read: {error}"));
                further.insert("binary.sha256".to_owned(), hash);
            }
            None => further.extend(installed.map(|package| ("package".to_owned(), package))),
        }
        let build = self.server.build.as_ref().map(|build| self.output_of(build));
        ServerFacts { version: self.version(), build: build.unwrap_or_default().trim().to_owned(), further }
    }

    /// Its version as it prints it; empty if unknown.
    pub fn version(&self) -> String {
        let Some(version) = &self.server.version else { return String::new() };
        let output = self.output_of(&version.run);
        let found = output.lines().find_map(|line| Some(line.strip_prefix(&version.after)?.trim()));
        found.unwrap_or_default().to_owned()
    }

    /// What a program prints; empty if it cannot be run.
    fn output_of(&self, argv: &[String]) -> String {
        let argv = self.variables.render_argv(argv);
        let argv = argv.map(|argv| with_binary(argv, &self.server.start, &self.knobs));
        argv.ok().and_then(|argv| self.run_tool(&argv).ok()).map_or(String::new(), |output| output.text)
    }
}
