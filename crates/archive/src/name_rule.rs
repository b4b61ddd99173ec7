//! Which run a name means. Every verb asks here, also for runs that are kept elsewhere in the directory of runs.

use crate::error::{ArchiveError, Result};
use crate::id::RunId;

/// How much of an id is enough to name a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameRule {
    /// A part that no other run has: for verbs that take nothing away.
    AnyPart,
    /// A beginning that no other run has: for what cannot be undone.
    Beginning,
}

impl NameRule {
    /// The run that a name means among these; none if nothing matches. A name that means several is an error that lists them.
    pub fn choose(self, ids: &[RunId], name: &str) -> Result<Option<RunId>> {
        let mut candidates = Vec::new();
        for id in ids {
            if id.as_str() == name {
                return Ok(Some(id.clone()));
            }
            let is_meant = match self {
                Self::AnyPart => id.as_str().contains(name),
                Self::Beginning => id.as_str().starts_with(name),
            };
            if is_meant && !name.is_empty() {
                candidates.push(id.clone());
            }
        }
        if candidates.len() > 1 {
            candidates.sort_by(|one, other| other.cmp(one));
            return Err(ArchiveError::Ambiguous { name: name.to_owned(), candidates });
        }
        Ok(candidates.pop())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_means_one_run_none_or_an_error_that_lists_the_newest_first() {
        let [old, new] = ["20261121T005139Z-nginx-apache-7f3a", "20261122T005139Z-nginx-caddy-0280"]
            .map(|text| text.parse::<RunId>().expect("an id"));
        let ids = [old.clone(), new.clone()];
        let named = |rule: NameRule, name: &str| rule.choose(&ids, name).expect("not ambiguous");
        assert_eq!(named(NameRule::AnyPart, "7f3a"), Some(old.clone()));
        assert_eq!(named(NameRule::Beginning, "7f3a"), None);
        assert_eq!(named(NameRule::Beginning, "20261122"), Some(new.clone()));
        assert_eq!(named(NameRule::Beginning, old.as_str()), Some(old.clone()));
        assert_eq!(named(NameRule::AnyPart, ""), None);
        for (rule, name) in [(NameRule::AnyPart, "nginx"), (NameRule::Beginning, "2026112")] {
            let Err(ArchiveError::Ambiguous { candidates, .. }) = rule.choose(&ids, name) else {
                panic!("{name} means both");
            };
            assert_eq!(candidates, [new.clone(), old.clone()]);
        }
    }
}
