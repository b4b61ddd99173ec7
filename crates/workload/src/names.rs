//! Names that a user wrote and that are not defined. The error lists the defined names and suggests the nearest one.

pub use notation::mistakes::available;

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
    }
}
