//! A run without the names of its machine, its user and its directories, to publish it.
//!
//! Every file is rewritten with one table of replacements, so a name or a path has the same replacement everywhere.
//! `scan` finds what to replace in a text. In JSON, histogram logs and telemetry only texts are replaced; numbers stay byte
//! for byte.

mod identity;
mod scan;

use super::export::{export_replaced, record_files};
use crate::{
    error::{ArchiveError, Result},
    files,
    id::RunId,
    layout,
    model::Plan,
    telemetry::Telemetry,
};
pub use identity::Identity;
use scan::Replacements;
use serde::de::IgnoredAny;
use serde_json::Value;
use std::{
    fs::File,
    io::Write,
    path::{Path, PathBuf},
};

/// A run that is exported without what identifies its machine and user.
#[derive(Debug)]
pub struct AnonymousRun {
    dir: PathBuf,
    id: RunId,
    replacements: Replacements,
    _lock: File,
}

impl AnonymousRun {
    pub(crate) fn new(dir: &Path, id: &RunId, identity: &Identity, lock: File) -> Self {
        let mut identity = identity.clone();
        for name in [layout::PLAN, layout::FACTS] {
            if let Ok(bytes) = files::read(&dir.join(name)) {
                add_names(&String::from_utf8_lossy(&bytes), &mut identity);
            }
        }
        let mut replacements = Replacements::new(&identity, &words_of_plan(dir));
        let id = anonymous_id(id, &mut replacements);
        Self { dir: dir.to_path_buf(), id, replacements, _lock: lock }
    }

    /// The run's id, without names of the user and host.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// Writes the run as `.tar.gz`.
    pub fn export(mut self, out: impl Write) -> Result<()> {
        let names = record_files(&self.dir)?;
        export_replaced(names, out, |name| {
            let path = self.dir.join(name);
            let bytes = files::read(&path)?;
            let replaced = self.replace(name, &path, &bytes)?;
            let name = self.replacements.text(&name.to_string_lossy());
            Ok((Path::new(self.id.as_str()).join(name), replaced))
        })
    }

    /// The content of a file, which has this name in the run.
    fn replace(&mut self, name: &Path, path: &Path, bytes: &[u8]) -> Result<Vec<u8>> {
        let failed = |problem: String| ArchiveError::NotAnonymous { path: path.to_path_buf(), problem };
        let extension = name.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let is_record = !name.components().any(|part| part.as_os_str() == layout::CONFIG);
        match extension {
            "json" if is_record => {
                let text = std::str::from_utf8(bytes).map_err(|error| failed(error.to_string()))?;
                self.replace_json(text).map(String::into_bytes).map_err(|error| failed(error.to_string()))
            }
            "parquet" if is_record => {
                let mut telemetry =
                    Telemetry::from_parquet(bytes.to_vec()).map_err(|error| failed(error.to_string()))?;
                for column in &mut telemetry.columns {
                    column.info.name = self.replacements.text(&column.info.name);
                    column.info.help = self.replacements.text(&column.info.help);
                }
                telemetry.to_parquet().map_err(|error| failed(error.to_string()))
            }
            "hlog" if is_record => Ok(self.replace_log(&String::from_utf8_lossy(bytes)).into_bytes()),
            _ => {
                let text = self.replacements.text(&String::from_utf8_lossy(bytes));
                if name.file_name().is_some_and(|file| file == layout::PLAN) {
                    text.parse::<Plan>().map_err(|error| failed(error.to_string()))?;
                }
                Ok(text.into_bytes())
            }
        }
    }

    /// Replaces strings of JSON and copies everything else byte for byte: a number that is read and written again may
    /// differ in its last digit.
    fn replace_json(&mut self, json: &str) -> serde_json::Result<String> {
        serde_json::from_str::<IgnoredAny>(json)?;
        let mut out = String::with_capacity(json.len());
        let mut rest = json;
        while let Some(start) = rest.find('"') {
            out.push_str(&rest[..start]);
            rest = &rest[start..];
            let mut strings = serde_json::Deserializer::from_str(rest).into_iter::<String>();
            let Some(string) = strings.next() else { break };
            out.push_str(&serde_json::to_string(&self.replacements.text(&string?))?);
            rest = &rest[strings.byte_offset()..];
        }
        out.push_str(rest);
        Ok(out)
    }

    /// In a histogram log, the last field of a line is an encoded histogram.
    fn replace_log(&mut self, log: &str) -> String {
        log.split_inclusive('\n')
            .map(|line| match line.rsplit_once(',') {
                Some((fields, histogram)) => format!("{},{histogram}", self.replacements.text(fields)),
                None => self.replacements.text(line),
            })
            .collect()
    }
}

/// Adds the names of hosts in facts and plan, and users whose home directories a file names.
fn add_names(text: &str, identity: &mut Identity) {
    if let Ok(facts) = serde_json::from_str::<Value>(text) {
        let others = facts["hosts"].as_object().into_iter().flat_map(|hosts| hosts.values());
        for host in others.chain([&facts["host"]]) {
            identity.hosts.extend(host["machine.hostname"].as_str().map(str::to_owned));
        }
    }
    if let Ok(plan) = text.parse::<Plan>() {
        for host in plan.hosts {
            // The user and the host of `ssh`; its address is replaced as every address is.
            let (user, at) = host.ssh.as_deref().map_or((None, None), |ssh| match ssh.rsplit_once('@') {
                Some((user, at)) => (Some(user.to_owned()), Some(at.to_owned())),
                None => (None, Some(ssh.to_owned())),
            });
            identity.users.extend(user);
            identity.hosts.extend(at.into_iter().chain([host.name]));
        }
    }
    for (at, home) in text.match_indices("/home/") {
        let rest = &text[at + home.len()..];
        let end = rest.find(|c: char| !(c.is_alphanumeric() || "._-".contains(c))).unwrap_or(rest.len());
        if end > 0 {
            identity.users.push(rest[..end].to_owned());
            identity.homes.push(format!("{home}{}", &rest[..end]));
        }
    }
}

/// Words of the plan that are names of the program or of a workload. They stay, also if a host or user has that name.
fn words_of_plan(dir: &Path) -> Vec<String> {
    let plan = files::read(&dir.join(layout::PLAN)).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let Some(plan) = plan.and_then(|text| text.parse::<Plan>().ok()) else { return Vec::new() };
    let mut words = vec![plan.workload];
    words.extend(plan.on_op);
    for variant in plan.variants {
        words.push(variant.server);
        words.extend(variant.knobs.into_keys());
    }
    words
}

/// The id with the names of variants replaced; they may name a user's directory.
fn anonymous_id(id: &RunId, replacements: &mut Replacements) -> RunId {
    let salt = id.as_str().rsplit_once('-').and_then(|(_, salt)| u16::from_str_radix(salt, 16).ok());
    let replaced = replacements.text(id.as_str());
    // A replacement may be longer than the name, and an id has a maximum length.
    replaced.parse().unwrap_or_else(|_| RunId::new(id.started(), ["anonymous"], salt.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_its_numbers_and_its_form() {
        let folder = tempfile::tempdir().unwrap();
        let id = "20261121T005139Z-nginx-apache-7f3a".parse().unwrap();
        let identity = Identity { users: vec!["alice".to_owned()], ..Identity::default() };
        let lock = File::open(folder.path()).unwrap();
        let mut run = AnonymousRun::new(folder.path(), &id, &identity, lock);
        let json = r#"{"z alice": [0.9375000000000001, 1e300, 18446744073709551615], "a": "x\n\/srv/d/alice \" \u00e9",
            "empty": "", "n": null}"#;
        let expected = r#"{"z user-1": [0.9375000000000001, 1e300, 18446744073709551615], "a": "x\n/path/1 \" é",
            "empty": "", "n": null}"#;
        assert_eq!(run.replace_json(json).unwrap(), expected);
        for wrong in ["{", "\"x", "[1,]", "x", "\"a\" \"b\""] {
            assert!(run.replace_json(wrong).is_err(), "{wrong}");
        }
    }
}
