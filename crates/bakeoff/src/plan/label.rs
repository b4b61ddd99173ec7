//! Labels of variants: `old=api:image=one` is a variant that the answer calls `old`.

use archive::model::Variant;

use crate::plan::error::PlanError;

/// The longest label. It is in the names of directories, and in every sentence.
const LONGEST: usize = 40;

/// Splits variants as the command line has them: their labels, where they have one, and the variants without them.
pub fn split_all(variants: &[String]) -> Result<(Vec<Option<String>>, Vec<String>), PlanError> {
    let split: Vec<_> = variants.iter().map(|text| split(text)).collect::<Result<_, _>>()?;
    Ok(split.into_iter().unzip())
}

/// A label comes before the server, and so before everything that has an equals sign of its own.
fn split(text: &str) -> Result<(Option<String>, String), PlanError> {
    let Some(at) = text.find(['=', ':', '@']).filter(|at| text[*at..].starts_with('=')) else {
        return Ok((None, text.to_owned()));
    };
    let (label, written) = (text[..at].trim(), &text[at + 1..]);
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let begins_well = label.starts_with(|c: char| c.is_ascii_alphanumeric());
    if !begins_well || !label.chars().all(fits) || label.len() > LONGEST {
        return Err(PlanError::Label(label.to_owned()));
    }
    Ok((Some(label.to_owned()), written.to_owned()))
}

/// Names the variants by their labels. Each name may occur only once.
pub fn named_by(variants: Vec<Variant>, labels: Vec<Option<String>>) -> Result<Vec<Variant>, PlanError> {
    let mut named: Vec<Variant> = Vec::new();
    for (variant, label) in variants.into_iter().zip(labels) {
        let name = label.unwrap_or_else(|| variant.name.clone());
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

    fn split_text(text: &str) -> (Option<String>, String) {
        split(text).expect("a variant")
    }

    #[test]
    fn a_label_comes_before_the_server() {
        let old = Some("old".to_owned());
        assert_eq!(split_text("old=api:binary=/opt/a"), (old.clone(), "api:binary=/opt/a".to_owned()));
        assert_eq!(split_text("old=nginx@first"), (old, "nginx@first".to_owned()));
        for unlabelled in ["nginx", "nginx:sendfile=off", "nginx@first:sendfile=off", "nginx@kind:small"] {
            assert_eq!(split_text(unlabelled), (None, unlabelled.to_owned()));
        }
    }

    #[test]
    fn a_label_is_a_short_word() {
        for text in ["=api", "../old=api", "a b=api", &format!("{}=api", "x".repeat(41))] {
            let error = split(text).expect_err("no label").to_string();
            assert!(error.contains("is no label: write letters, digits"), "{error}");
        }
    }
}
