//! The file of a tuning as it is written, and its checks that need no workload.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;
use workload::definition::{BINARY, FileError, SourceText};

use crate::condition::Condition;
use crate::tuning::{Durability, Expected, Level, Mechanism, Need, Scope, Security, Tuning};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTuning {
    title: Spanned<String>,
    about: String,
    #[serde(default)]
    servers: Vec<String>,
    #[serde(default)]
    only_with: Option<Spanned<BTreeMap<String, toml::Value>>>,
    #[serde(default)]
    versions: String,
    scope: Spanned<Scope>,
    #[serde(default)]
    needs: Vec<Need>,
    #[serde(default)]
    when: Vec<Spanned<Condition>>,
    #[serde(default)]
    unless: Vec<Spanned<Condition>>,
    #[serde(default)]
    avoid: String,
    #[serde(default)]
    durability: Durability,
    #[serde(default)]
    security: Security,
    #[serde(default)]
    mechanism: Option<Mechanism>,
    #[serde(default)]
    expected: Option<Spanned<Expected>>,
    #[serde(default)]
    conflicts: Vec<String>,
    undo: String,
    source: Spanned<String>,
    #[serde(default)]
    level: Vec<Spanned<RawLevel>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLevel {
    set: BTreeMap<String, toml::Value>,
    #[serde(default)]
    verify: Option<String>,
    #[serde(default)]
    take_home: Vec<String>,
}

/// Reads a tuning with this name.
pub(crate) fn read(id: &str, source: SourceText<'_>) -> Result<Tuning, FileError> {
    let raw: RawTuning = toml::from_str(source.text).map_err(|error| source.toml_error(&error))?;
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if id.is_empty() || !id.chars().all(is_plain) {
        let what =
            format!("{id:?} is not the name of a tuning: name its file in small letters, digits and -");
        return Err(source.error_at_line(1, what));
    }
    if raw.title.get_ref().trim().is_empty() {
        return Err(
            source.error(&raw.title.span(), "title is empty: say what the tuning does in a few words")
        );
    }
    if raw.source.get_ref().trim().is_empty() {
        let what = "source is empty: say where the setting is documented, such as the address of a page";
        return Err(source.error(&raw.source.span(), what));
    }
    for condition in raw.when.iter().chain(&raw.unless) {
        if !condition.get_ref().is_complete() {
            let what = format!(
                "condition on {:?}: give one of at_least and at_most, a number",
                condition.get_ref().figure
            );
            return Err(source.error(&condition.span(), what));
        }
    }
    if let Some(expected) = &raw.expected
        && !(expected.get_ref().low > 0.0 && expected.get_ref().low <= expected.get_ref().high)
    {
        let what = "expected: low and high are ratios above 0, the smaller one first, such as low = 1.07, high = 1.12";
        return Err(source.error(&expected.span(), what));
    }
    let scope = *raw.scope.get_ref();
    if raw.level.is_empty() && scope != Scope::Boot {
        let what = "there is no level: give the settings to try as [[level]] with set = { KNOB = VALUE }";
        return Err(source.error(&raw.scope.span(), what));
    }
    if !raw.level.is_empty() && scope == Scope::Boot {
        return Err(source.error(&raw.scope.span(), "a tuning of the boot is not tried: remove its levels"));
    }
    let mut only_with = BTreeMap::new();
    if let Some(knobs) = raw.only_with {
        let span = knobs.span();
        for (name, value) in knobs.into_inner() {
            let text =
                text_of(&name, value).map_err(|what| source.error(&span, format!("only_with: {what}")))?;
            only_with.insert(name, text);
        }
    }
    let levels: Result<Vec<Level>, FileError> =
        raw.level.into_iter().map(|level| check_level(level, scope, source)).collect();
    Ok(Tuning {
        id: id.to_owned(),
        title: raw.title.into_inner(),
        about: raw.about,
        servers: raw.servers,
        only_with,
        versions: raw.versions,
        scope,
        needs: raw.needs,
        when: raw.when.into_iter().map(Spanned::into_inner).collect(),
        unless: raw.unless.into_iter().map(Spanned::into_inner).collect(),
        avoid: raw.avoid,
        durability: raw.durability,
        security: raw.security,
        mechanism: raw.mechanism,
        expected: raw.expected.map(Spanned::into_inner),
        conflicts: raw.conflicts,
        undo: raw.undo,
        source: raw.source.into_inner(),
        levels: levels?,
    })
}

fn check_level(level: Spanned<RawLevel>, scope: Scope, source: SourceText<'_>) -> Result<Level, FileError> {
    let span = level.span();
    let RawLevel { set, verify, take_home } = level.into_inner();
    let wrong = |what: String| source.error(&span, format!("level: {what}"));
    if set.is_empty() {
        return Err(wrong("set is empty: give KNOB = VALUE".to_owned()));
    }
    let is_kernel = |name: &str| workload::is_kernel_setting(name);
    let mut texts = BTreeMap::new();
    for (name, value) in set {
        let fits = match scope {
            // A knob of the server may come with a setting of the kernel, such as a backlog.
            Scope::Sysctl => !name.starts_with('/'),
            Scope::Sysfs => name.starts_with('/'),
            Scope::Server | Scope::Process => !is_kernel(&name),
            Scope::Boot => false,
        };
        // Every server has it, so no server is needed to say so. For knobs of one server, `applicable` does.
        if name == BINARY {
            return Err(wrong(format!(
                "{name} is a program, which no tuning chooses: compare it as a variant, as in SERVER:binary=PATH"
            )));
        }
        if !fits {
            let wanted = match scope {
                Scope::Sysctl => "the name of a sysctl, such as net.core.somaxconn",
                Scope::Sysfs => "a file below /sys",
                Scope::Server | Scope::Process | Scope::Boot => "a knob of the server",
            };
            return Err(wrong(format!("{name:?} does not fit scope = {scope}: give {wanted}")));
        }
        let text = text_of(&name, value).map_err(wrong)?;
        texts.insert(name, text);
    }
    Ok(Level { set: texts, verify, take_home })
}

/// The value of a knob as variants write it.
fn text_of(name: &str, value: toml::Value) -> Result<String, String> {
    Ok(match value {
        toml::Value::Boolean(on) => if on { "on" } else { "off" }.to_owned(),
        toml::Value::Integer(number) => number.to_string(),
        toml::Value::Float(number) => number.to_string(),
        toml::Value::String(text) => text,
        other => {
            return Err(format!("{name} is {}: give a number, a text or a boolean", other.type_str()));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "title = \"Keep files open\"\nabout = \"x\"\nscope = \"server\"\nundo = \"restart\"\nsource = \"y\"\n";

    fn refused(text: &str) -> String {
        read("x", SourceText { file: "tunings/x.toml", text }).expect_err(text).to_string()
    }

    #[test]
    fn a_tuning_has_the_defaults_of_what_it_leaves_out() {
        let text = format!("{GOOD}[[level]]\nset = {{ a = 1, b = true, c = \"{{{{ cpus }}}}\" }}\n");
        let tuning = read("x", SourceText { file: "x.toml", text: &text }).unwrap();
        assert!(tuning.is_free() && tuning.is_for("anything"));
        let set: Vec<(&str, &str)> =
            tuning.levels[0].set.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(set, [("a", "1"), ("b", "on"), ("c", "{{ cpus }}")]);
        assert!(tuning.conflicts_with(&Tuning { id: "y".into(), ..tuning.clone() }), "both set a");
    }

    #[test]
    fn an_error_names_the_file_the_line_and_what_is_expected() {
        for (text, error) in [
            ("title = 1", "tunings/x.toml:1: invalid type: integer `1`, expected a string"),
            (
                GOOD,
                "tunings/x.toml:3: there is no level: give the settings to try as [[level]] with set = { KNOB = VALUE }",
            ),
        ] {
            assert_eq!(refused(text), error);
        }
        let with = |rest: &str| refused(&format!("{GOOD}{rest}"));
        assert!(
            with("scpoe = 1")
                .starts_with("tunings/x.toml:6: unknown key \"scpoe\" (did you mean \"scope\"? available: ")
        );
        assert!(with("[[level]]\nset = {}").contains(":6: level: set is empty"));
        assert!(
            with("[[level]]\nset = { \"vm.swappiness\" = 1 }")
                .ends_with("does not fit scope = server: give a knob of the server")
        );
        assert!(
            with("[[when]]\nfigure = \"a\"\n[[level]]\nset = { a = 1 }")
                .contains("give one of at_least and at_most")
        );
        assert!(
            with("[expected]\nlow = 2.0\nhigh = 1.0\nsource = \"\"\nhardware = \"\"\nyear = 2020\n[[level]]\nset = { a = 1 }")
                .contains("the smaller one first")
        );
        assert!(refused("").contains("missing field"));
        let named =
            read("A b", SourceText { file: "A b.toml", text: GOOD }).expect_err("a bad name").to_string();
        assert!(named.contains("is not the name of a tuning"), "{named}");
    }
}
