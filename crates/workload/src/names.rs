//! Names that a user wrote and that are not defined. The error lists the defined names and suggests the nearest one.

/// A name that is not defined: `server apache has no knob "sendfil" (did you mean "sendfile"? available: mpm, sendfile)`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{owner} has no {what} {name:?}{available}")]
pub struct UnknownName {
    owner: String,
    what: &'static str,
    name: String,
    available: String,
}

impl UnknownName {
    /// The error for a `name` that `owner` does not define; `what` is the kind of thing, such as `knob`.
    pub fn new(owner: impl Into<String>, what: &'static str, name: &str, defined: &[&str]) -> Self {
        Self { owner: owner.into(), what, name: name.to_owned(), available: available(name, defined) }
    }
}

/// The end of a message about an unknown name: ` (did you mean "workers"? available: threads, workers)`.
pub fn available(unknown: &str, defined: &[&str]) -> String {
    if defined.is_empty() {
        return " (none are defined)".to_owned();
    }
    // Every short name is near every other short name: a suggestion must be closer than a third of its length.
    let nearest = defined
        .iter()
        .map(|name| (strsim::damerau_levenshtein(&unknown.to_lowercase(), &name.to_lowercase()), name))
        .min()
        .filter(|(distance, name)| *distance <= name.len().max(unknown.len()).saturating_sub(1) / 3)
        .map_or(String::new(), |(_, name)| format!("did you mean {name:?}? "));
    format!(" ({nearest}available: {})", defined.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_is_reported_with_the_nearest_and_all_defined_names() {
        let error = UnknownName::new("server api", "knob", "wrokers", &["threads", "workers"]);
        assert_eq!(
            error.to_string(),
            "server api has no knob \"wrokers\" (did you mean \"workers\"? available: threads, workers)"
        );
        assert_eq!(available("port", &["threads"]), " (available: threads)");
        assert_eq!(available("port", &[]), " (none are defined)");
    }
}
