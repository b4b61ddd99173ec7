//! The answer of a run of transfers in a sentence.

use archive::model::{ConcurrencyStep, RanOut, thousands};

use crate::client::client_was_the_limit;

/// What the sentence is made of.
pub(crate) struct Found<'a> {
    pub variant: &'a str,
    pub steps: &'a [ConcurrencyStep],
    pub breaking_point: Option<u32>,
    pub comfortable_point: Option<u32>,
    pub ran_out: &'a [RanOut],
    pub until_availability: f64,
}

pub(crate) fn sentence(found: &Found<'_>) -> String {
    let Found { variant, steps, .. } = found;
    let number = |transfers: u32| thousands(transfers.into());
    let comfortable = match found.comfortable_point {
        Some(transfers) => format!("comfortable up to {} downloads at once", number(transfers)),
        None => "comfortable at no step that was tried".to_owned(),
    };
    let Some(broken) = found.breaking_point else {
        let Some(most) = steps.iter().map(|step| step.transfers).max() else {
            return format!("{variant} was not measured: no step was held");
        };
        // The run ends there: a first step has none before that would tell of the server.
        if let Some(why) = steps.first().and_then(client_was_the_limit) {
            return format!("{why}; this says nothing of {variant}");
        }
        if let Some(why) = steps.iter().find_map(client_was_the_limit) {
            return format!("{variant} is {comfortable}; {why}");
        }
        return format!("{variant} is {comfortable}; it did not break with up to {}", number(most));
    };
    let availability =
        steps.iter().find(|step| step.transfers == broken).map_or(0.0, |step| step.availability * 100.0);
    let why = found.ran_out.first().map_or_else(String::new, |first| format!(": {}", first.sentence));
    let until = found.until_availability * 100.0;
    // "50 % (under 50 %)" would not be true.
    let decimals = if format!("{availability:.0}") == format!("{until:.0}") { 2 } else { 0 };
    format!(
        "{variant} is {comfortable}; it breaks at {}, with an availability of {availability:.decimals$} % (under {until:.0} %){why}",
        number(broken),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_has_both_points() {
        let steps = [1_000, 2_000].map(|transfers| ConcurrencyStep {
            transfers,
            availability: if transfers == 1_000 { 1.0 } else { 0.128 },
            ..ConcurrencyStep::default()
        });
        let found = Found {
            variant: "apache",
            steps: &steps,
            breaking_point: Some(2_000),
            comfortable_point: Some(1_000),
            ran_out: &[],
            until_availability: 0.5,
        };
        assert_eq!(
            sentence(&found),
            "apache is comfortable up to 1,000 downloads at once; it breaks at 2,000, with an availability of 13 % (under 50 %)"
        );
        let near = [ConcurrencyStep { availability: 0.4995, ..steps[1].clone() }];
        let sentence_near = sentence(&Found { steps: &near, ..found });
        assert!(sentence_near.ends_with("with an availability of 49.95 % (under 50 %)"), "{sentence_near}");
        let late = [ConcurrencyStep {
            client_late_p99_us: 39_000_000,
            client_late_limit_us: 7_000_000,
            ..steps[1].clone()
        }];
        let of_client = Found { breaking_point: None, comfortable_point: None, steps: &late, ..found };
        assert_eq!(
            sentence(&of_client),
            "the client was the limit with 2,000: its reads were 39.0 s late (p99), more than 7.0 s; this says nothing of apache"
        );
        let later = [steps[0].clone(), late[0].clone()];
        let of_client = Found { comfortable_point: Some(1_000), steps: &later, ..of_client };
        assert_eq!(
            sentence(&of_client),
            "apache is comfortable up to 1,000 downloads at once; the client was the limit with 2,000: its reads were 39.0 s late (p99), more than 7.0 s"
        );
        let interrupted = Found { steps: &[], breaking_point: None, comfortable_point: None, ..found };
        assert_eq!(sentence(&interrupted), "apache was not measured: no step was held");
        let healthy = Found { breaking_point: None, comfortable_point: Some(2_000), ..found };
        assert_eq!(
            sentence(&healthy),
            "apache is comfortable up to 2,000 downloads at once; it did not break with up to 2,000"
        );
    }
}
