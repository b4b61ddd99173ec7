//! Labels of variants: `old=api:image=one` is a variant that the answer calls `old`.

use archive::model::Variant;

use crate::plan::error::PlanError;

/// The longest label. It is in the names of directories, and in every sentence.
const LONGEST: usize = 40;

/// A variant as the command line has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelledVariant {
    /// Its label, if it has one.
    pub label: Option<String>,
    /// The variant without it.
    pub written: String,
}

impl LabelledVariant {
    /// Reads a variant. A label comes before the server, and so before everything that has an equals sign of its own.
    pub fn parse(text: &str) -> Result<Self, PlanError> {
        let unlabelled = || Self { label: None, written: text.to_owned() };
        let Some(at) = text.find(['=', ':', '@']).filter(|at| text[*at..].starts_with('=')) else {
            return Ok(unlabelled());
        };
        let (label, written) = (text[..at].trim(), &text[at + 1..]);
        let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let begins_well = label.starts_with(|c: char| c.is_ascii_alphanumeric());
        if !begins_well || !label.chars().all(fits) || label.len() > LONGEST {
            return Err(PlanError::Label(label.to_owned()));
        }
        Ok(Self { label: Some(label.to_owned()), written: written.to_owned() })
    }
}

/// Names the variants by their labels. Each name may occur only once.
pub fn named_by_labels(
    variants: Vec<Variant>,
    labelled: &[LabelledVariant],
) -> Result<Vec<Variant>, PlanError> {
    let mut named: Vec<Variant> = Vec::new();
    for (variant, LabelledVariant { label, .. }) in variants.into_iter().zip(labelled) {
        let name = label.clone().unwrap_or_else(|| variant.name.clone());
        if named.iter().any(|earlier| earlier.name == name) {
            return Err(PlanError::SameLabel(name));
        }
        named.push(Variant { name, ..variant });
    }
    Ok(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (Option<String>, String) {
        let LabelledVariant { label, written } = LabelledVariant::parse(text).expect("a variant");
        (label, written)
    }

    #[test]
    fn a_label_comes_before_the_server() {
        let old = Some("old".to_owned());
        assert_eq!(parsed("old=api:binary=/opt/a"), (old.clone(), "api:binary=/opt/a".to_owned()));
        assert_eq!(parsed("old=nginx@first"), (old, "nginx@first".to_owned()));
        for unlabelled in ["nginx", "nginx:sendfile=off", "nginx@first:sendfile=off", "nginx@kind:small"] {
            assert_eq!(parsed(unlabelled), (None, unlabelled.to_owned()));
        }
    }

    #[test]
    fn a_label_is_a_short_word() {
        for text in ["=api", "../old=api", "a b=api", &format!("{}=api", "x".repeat(41))] {
            let error = LabelledVariant::parse(text).expect_err("no label").to_string();
            assert!(error.contains("is no label: write letters, digits"), "{error}");
        }
    }
}
