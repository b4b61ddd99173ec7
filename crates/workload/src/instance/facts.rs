//! What a server says of itself: its version, how it was built, which package it is from.

use std::collections::BTreeMap;

use super::running::Instance;

/// Facts of a server, for the fairness audit. What its process is (libraries, allocator, limits) is in
/// [`host::ProcessFacts`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerFacts {
    /// Its version as it says it; empty if it does not.
    pub version: String,
    /// How it was built, as it says it; empty if it does not.
    pub build: String,
    /// Further facts by name: `package`, `protocol`.
    pub further: BTreeMap<String, String>,
}

impl Instance {
    /// What there is to know; what cannot be found out is left empty, for no trial hangs on it.
    pub fn facts(&self) -> ServerFacts {
        let protocol = format!("{:?}", self.server.protocol).to_lowercase();
        let mut further = BTreeMap::from([("protocol".to_owned(), protocol)]);
        let installed = self.server.packages.values().find_map(|package| {
            self.stage.host.package_version(package).map(|version| format!("{package} {version}"))
        });
        further.extend(installed.map(|package| ("package".to_owned(), package)));
        let build = self.server.build.as_ref().map(|build| self.said(build));
        ServerFacts { version: self.version(), build: build.unwrap_or_default().trim().to_owned(), further }
    }

    /// Its version as it says it; empty if it does not.
    pub fn version(&self) -> String {
        let Some(version) = &self.server.version else { return String::new() };
        let said = self.said(&version.run);
        let found = said.lines().find_map(|line| Some(line.strip_prefix(&version.after)?.trim()));
        found.unwrap_or_default().to_owned()
    }

    /// What a program says; nothing if it cannot be run.
    fn said(&self, argv: &[String]) -> String {
        let argv = self.scope.render_argv(argv);
        argv.ok().and_then(|argv| self.run_tool(&argv).ok()).map_or(String::new(), |output| output.text)
    }
}
