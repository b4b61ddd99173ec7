//! The program of a server as a knob that every server has which is started by its name: a build of one's own takes the place of
//! the package's. Running it is left to a start.

use std::collections::BTreeMap;
use std::path::Path;

use super::knob::Knob;
use crate::definition::values::knob_type::{KnobType, TypedValue};
use crate::definition::values::text_form::{TextForm, TextRule};

/// The knob: the program of the server.
pub const BINARY: &str = "binary";

/// The program that a server starts by its name; none where its command has a path or a template.
pub(crate) fn named_program(start: &[String]) -> Option<&str> {
    start.first().map(String::as_str).filter(|program| !program.contains(['/', '{']))
}

/// The knob [`BINARY`] of a server with this command.
pub(in crate::definition) fn knob(start: &[String]) -> Option<Knob> {
    let own = named_program(start)?;
    let rule = TextRule { form: Some(TextForm::Program), pattern: None };
    let about = "the server's program: the path of a build of your own, which runs instead of the package's";
    Some(Knob::built_in(BINARY, about, KnobType::Text(rule), own))
}

/// The build that these values of knobs name; none for the package's program.
pub(crate) fn own_build(knobs: &BTreeMap<String, TypedValue>) -> Option<&Path> {
    match knobs.get(BINARY)? {
        TypedValue::Text(text) if text.contains('/') => Some(Path::new(text)),
        _ => None,
    }
}

/// The fact of a server that lists the knobs whose values are builds of it, with a comma and a blank between their names.
pub const BUILD_KNOBS: &str = "build_knobs";

/// The names of the knobs whose values are builds of a server with this command: programs, and texts of a pattern of the file's own, such as
/// images of containers, each a whole word of the command.
pub(crate) fn build_knobs<'k>(start: &[String], knobs: &'k [Knob]) -> Vec<&'k str> {
    let mut found = Vec::new();
    for knob in knobs {
        let KnobType::Text(rule) = &knob.knob_type else { continue };
        let may_be_build = matches!(rule.form, Some(TextForm::Program) | None);
        if knob.name == BINARY || (may_be_build && start.iter().any(|word| is_value_of(word, &knob.name))) {
            found.push(knob.name.as_str());
        }
    }
    found
}

/// Whether a word of a template is the value of this knob and nothing else.
fn is_value_of(word: &str, knob: &str) -> bool {
    let inner = word.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
    inner.is_some_and(|inner| inner.trim() == knob)
}

/// A command of the server. Where it runs the server's program, it runs the one that the knob names.
pub(crate) fn with_binary(
    mut argv: Vec<String>,
    start: &[String],
    knobs: &BTreeMap<String, TypedValue>,
) -> Vec<String> {
    if let (Some(own), Some(TypedValue::Text(binary)), Some(program)) =
        (named_program(start), knobs.get(BINARY), argv.first_mut())
        && program == own
    {
        program.clone_from(binary);
    }
    argv
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    fn knob_of(name: &str, form: Option<TextForm>) -> Knob {
        let pattern = if form.is_none() { Some("[a-z:]*".to_owned()) } else { None };
        Knob::built_in(name, "", KnobType::Text(TextRule { form, pattern }), "")
    }

    #[test]
    fn programs_and_images_are_builds_where_they_are_whole_words_of_the_start() {
        let mut knobs = vec![
            knob_of("program", Some(TextForm::Program)),
            knob_of("image", None),
            knob_of("label", None),
            knob_of("word", Some(TextForm::Word)),
            knob_of("hook", Some(TextForm::Program)),
        ];
        let start = ["{{ program }}", "{{image}}", "--label={{ label }}", "{{ word }}"].map(str::to_owned);
        assert_eq!(build_knobs(&start, &knobs), ["program", "image"]);
        let start = words("nginx -c nginx.conf");
        knobs.push(knob(&start).expect("a program by its name"));
        assert_eq!(build_knobs(&start, &knobs), [BINARY]);
    }

    #[test]
    fn commands_of_the_servers_program_run_the_build_and_others_do_not() {
        let start = words("nginx -c nginx.conf");
        let knob = knob(&start).expect("it is started by its name");
        let with = |value: &str| BTreeMap::from([(BINARY.to_owned(), knob.parse(value).expect("a program"))]);
        let build = with("/opt/a/nginx");
        assert_eq!(with_binary(words("nginx -v"), &start, &build), words("/opt/a/nginx -v"));
        assert_eq!(with_binary(words("cat nginx"), &start, &build), words("cat nginx"));
        assert_eq!(with_binary(words("nginx -v"), &start, &with("nginx")), words("nginx -v"));
        assert_eq!(own_build(&build), Some(Path::new("/opt/a/nginx")));
        assert_eq!(own_build(&with("nginx-debug")), None);
        assert!(knob.parse("../nginx").is_err() && knob.parse("/opt/$(id)").is_err());
    }

    #[test]
    fn a_server_that_is_started_by_a_path_or_a_template_has_no_such_knob() {
        assert_eq!(knob(&words("{{ showdown }} runner lmdb")), None);
        assert_eq!(knob(&words("/opt/server -f")), None);
    }
}
