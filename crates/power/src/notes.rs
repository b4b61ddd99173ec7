//! What watts do not say by themselves. Every answer with watts has the same words for it.

use crate::boundary::Boundary;

/// Notes on meters: `is_indicative` says whether one of them is, `boundaries` are those of their watts.
pub fn notes_on(is_indicative: bool, boundaries: impl IntoIterator<Item = Boundary>) -> Vec<String> {
    let mut notes = Vec::new();
    let mut boundaries: Vec<Boundary> = boundaries.into_iter().collect();
    boundaries.sort_unstable();
    boundaries.dedup();
    if is_indicative {
        notes.push(
            "Watts are indicative: SPECpower accepts an analyser with an error of 1 % at most, and the error of these meters is larger \
             or unknown"
                .to_owned(),
        );
    }
    if boundaries.len() > 1 {
        notes.push(
            "Watts of different boundaries contain each other: they are not added or compared".to_owned(),
        );
    }
    if boundaries.contains(&Boundary::Unknown) {
        notes.push(
            "A meter does not say on which side of the power supply it measures: its watts are not compared or billed. If its manual \
             does, write boundary = \"wall\" or \"dc\" in the file of targets"
                .to_owned(),
        );
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_belong_to_the_meters_that_need_them() {
        assert!(notes_on(false, [Boundary::Wall, Boundary::Wall]).is_empty());
        let begins = |note: &String| note.split(' ').take(4).collect::<Vec<_>>().join(" ");
        let all: Vec<String> =
            notes_on(true, [Boundary::Unknown, Boundary::Package]).iter().map(begins).collect();
        assert_eq!(
            all,
            ["Watts are indicative: SPECpower", "Watts of different boundaries", "A meter does not"]
        );
    }
}
