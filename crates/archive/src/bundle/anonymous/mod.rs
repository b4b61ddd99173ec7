//! A run without the names of its machine, its user and its directories, to publish it.
//!
//! Every file is rewritten with one table of replacements, so a name or a path has the same replacement everywhere.
//! `scan` finds what to replace in a text. In JSON, histogram logs and telemetry only texts are replaced; numbers stay byte
//! for byte. The names of fields stay, because a user may have the name of one; every file that could be read before is read again
//! after it.

mod json;
mod names;
mod record;
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
pub use names::Identity;
use names::{add_names, words_of_plan};
use scan::Replacements;
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
    pub(crate) fn new(dir: &Path, id: &RunId, identity: &Identity, lock: File) -> Result<Self> {
        let mut identity = identity.clone();
        for name in [layout::PLAN, layout::FACTS] {
            if let Ok(bytes) = files::read(&dir.join(name)) {
                add_names(&String::from_utf8_lossy(&bytes), &mut identity);
            }
        }
        let replacements = Replacements::new(&identity, &words_of_plan(dir));
        let mut run = Self { dir: dir.to_path_buf(), id: id.clone(), replacements, _lock: lock };
        run.keep_words_of_the_formats()?;
        run.id = anonymous_id(id, &mut run.replacements);
        Ok(run)
    }

    /// A name may be a word that the formats use as a value, such as a kind of measurement. It stays: it identifies nobody, and without
    /// it a file could not be read.
    fn keep_words_of_the_formats(&mut self) -> Result<()> {
        for name in record_files(&self.dir)? {
            let path = self.dir.join(&name);
            let is_text =
                name.extension().is_some_and(|extension| extension == "json" || extension == "toml");
            let bytes = if is_text { files::read(&path)? } else { continue };
            if record::check(&name, &bytes).is_err() {
                continue;
            }
            let all = self.replacements.clone();
            let mut fits = |kept: &[String]| {
                self.replacements = all.without(kept);
                let is_read = self.replace(&name, &path, &bytes).is_ok();
                self.replacements = all.without(kept);
                is_read
            };
            let mut kept = Vec::new();
            if !fits(&kept) {
                kept = all.quoted_in(&String::from_utf8_lossy(&bytes));
                for word in kept.clone() {
                    let fewer: Vec<String> = kept.iter().filter(|other| **other != word).cloned().collect();
                    if fits(&fewer) {
                        kept = fewer;
                    }
                }
                fits(&kept);
            }
        }
        Ok(())
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

    /// The content of a file, which has this name in the run. What could be read before can be read after.
    fn replace(&mut self, name: &Path, path: &Path, bytes: &[u8]) -> Result<Vec<u8>> {
        let replaced = self.replace_texts(name, path, bytes)?;
        match record::check(name, &replaced) {
            Err(problem) if record::check(name, bytes).is_ok() => {
                Err(ArchiveError::NotAnonymous { path: path.to_path_buf(), problem })
            }
            _ => Ok(replaced),
        }
    }

    fn replace_texts(&mut self, name: &Path, path: &Path, bytes: &[u8]) -> Result<Vec<u8>> {
        let failed = |problem: String| ArchiveError::NotAnonymous { path: path.to_path_buf(), problem };
        let extension = name.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let is_record = !name.components().any(|part| part.as_os_str() == layout::CONFIG);
        match extension {
            "json" if is_record => {
                let text = std::str::from_utf8(bytes).map_err(|error| failed(error.to_string()))?;
                let replaced = json::replace(text, &mut self.replacements);
                replaced.map(String::into_bytes).map_err(|error| failed(error.to_string()))
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
            "toml" if is_record && name.file_name().is_some_and(|file| file == layout::PLAN) => {
                let text = String::from_utf8_lossy(bytes);
                let plan = text.parse::<Plan>().map_err(|error| failed(error.to_string()))?;
                let plan = self.replace_plan(&plan).map_err(failed)?;
                Ok(plan.into_bytes())
            }
            _ => Ok(self.replacements.text(&String::from_utf8_lossy(bytes)).into_bytes()),
        }
    }

    /// Replaces texts of the plan, and writes it as every plan of a run is written.
    fn replace_plan(&mut self, plan: &Plan) -> std::result::Result<String, String> {
        let mut value = toml::Value::try_from(plan).map_err(|error| error.to_string())?;
        replace_toml(&mut value, &mut self.replacements);
        let plan: Plan = value.try_into().map_err(|error: toml::de::Error| error.message().to_owned())?;
        toml::to_string(&plan).map_err(|error| error.to_string())
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

/// Replaces texts, and no key.
fn replace_toml(value: &mut toml::Value, replacements: &mut Replacements) {
    match value {
        toml::Value::String(text) => *text = replacements.text(text),
        toml::Value::Array(values) => values.iter_mut().for_each(|value| replace_toml(value, replacements)),
        toml::Value::Table(table) => {
            table.iter_mut().for_each(|(_, value)| replace_toml(value, replacements));
        }
        _ => {}
    }
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
    use std::collections::BTreeSet;

    use super::*;
    use crate::Run;

    #[test]
    fn json_keeps_its_numbers_and_its_form() {
        let folder = tempfile::tempdir().unwrap();
        let id = "20261121T005139Z-nginx-apache-7f3a".parse().unwrap();
        let identity = Identity { users: vec!["alice".to_owned()], ..Identity::default() };
        let lock = File::open(folder.path()).unwrap();
        let mut run = AnonymousRun::new(folder.path(), &id, &identity, lock).unwrap();
        let json = r#"{"z alice": [0.9375000000000001, 1e300, 18446744073709551615], "a": "x\n\/srv/d/alice \" \u00e9",
            "empty": "", "n": null}"#;
        let expected = r#"{"z alice": [0.9375000000000001, 1e300, 18446744073709551615], "a": "x\n/path/1 \" é",
            "empty": "", "n": null}"#;
        assert_eq!(json::replace(json, &mut run.replacements).unwrap(), expected);
        for wrong in ["{", "\"x", "[1,]", "x", "\"a\" \"b\""] {
            assert!(json::replace(wrong, &mut run.replacements).is_err(), "{wrong}");
        }
    }

    /// Words of the formats as the name of a user: the export can be read, and says what the run says.
    #[test]
    fn a_name_that_is_a_word_of_the_formats_breaks_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let id = crate::example::comparison(folder.path(), 2).unwrap();
        let dir = folder.path().join(id.as_str());
        let mut words: BTreeSet<String> = BTreeSet::new();
        for name in record_files(&dir).unwrap() {
            let text = String::from_utf8_lossy(&files::read(&dir.join(name)).unwrap()).into_owned();
            let is_word = |c: char| c.is_ascii_lowercase() || c == '_';
            let quoted = text.split('"').filter(|word| word.len() > 1 && word.chars().all(is_word));
            words.extend(quoted.map(str::to_owned));
            let keys = text.lines().filter_map(|line| line.split_once(" = ")).map(|(key, _)| key);
            words.extend(keys.map(str::to_owned));
        }
        assert!(words.len() > 50, "{words:?}");
        words = words.into_iter().step_by(9).collect();
        for word in
            ["kind", "variant", "max", "min", "value", "name", "block", "trial", "compare", "capacity"]
        {
            words.insert(word.to_owned());
        }
        for word in words {
            let identity = Identity { users: vec![word.clone()], ..Identity::default() };
            let lock = File::open(&dir).unwrap();
            let run = AnonymousRun::new(&dir, &id, &identity, lock).unwrap();
            let mut packed = Vec::new();
            let new_id = run.id().clone();
            run.export(&mut packed).unwrap_or_else(|error| panic!("{word}: {error}"));
            let there = tempfile::tempdir().unwrap();
            let file = there.path().join("run.tar.gz");
            std::fs::write(&file, &packed).unwrap();
            let archive = crate::Archive::new(there.path().join("runs"));
            assert_eq!(archive.import(&file).unwrap_or_else(|error| panic!("{word}: {error}")), new_id);
            let (was, is) = (Run::open(&dir).unwrap(), archive.open(new_id.as_str()).unwrap());
            assert_eq!(is.problems, [], "{word}");
            assert_eq!(is.trials.len(), was.trials.len(), "{word}");
            let values =
                |run: &Run| run.trials.iter().map(|record| record.trial.measured.clone()).collect::<Vec<_>>();
            assert_eq!(values(&is), values(&was), "{word}");
        }
    }
}
