//! Texts of a given length from a seeded generator: names, sentences, telephone numbers, days. What they are for is left to `rows`.

use rand::{Rng, RngExt};

const SYLLABLES: [&str; 40] = [
    "ba", "be", "bo", "da", "de", "di", "fa", "fe", "fi", "ga", "go", "ha", "he", "ja", "jo", "ka", "ki",
    "la", "le", "li", "lo", "ma", "me", "mi", "na", "ne", "ni", "no", "pa", "pe", "ra", "re", "ri", "sa",
    "so", "ta", "te", "ti", "va", "vi",
];

/// A word of so many syllables.
fn word(rng: &mut impl Rng, syllables: u32) -> String {
    let mut word = String::new();
    for _ in 0..syllables {
        word.push_str(SYLLABLES[rng.random_range(0..SYLLABLES.len())]);
    }
    word
}

/// A word that begins with a capital, of 4 to 8 letters.
pub fn name(rng: &mut impl Rng) -> String {
    let syllables = rng.random_range(2..=4);
    capital(&word(rng, syllables))
}

fn capital(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    first.to_uppercase() + rest
}

/// Words with single blanks between them, `least` to `most` bytes in all.
pub fn sentence(rng: &mut impl Rng, least: usize, most: usize) -> String {
    let length = rng.random_range(least..=most);
    let mut text = capital(&word(rng, 2));
    while text.len() < length {
        let syllables = rng.random_range(1..=4);
        text.push(' ');
        text.push_str(&word(rng, syllables));
    }
    text.truncate(length);
    // A blank at the end would not be in a form.
    if text.ends_with(' ') {
        text.replace_range(length - 1.., "a");
    }
    text
}

/// Three, three and four digits.
pub fn telephone(rng: &mut impl Rng) -> String {
    format!(
        "{:03}-{:03}-{:04}",
        rng.random_range(100..1_000),
        rng.random_range(0..1_000),
        rng.random_range(0..10_000)
    )
}

/// The day so many days after 2026-01-01, as `YYYY-MM-DD`; negative before it.
pub fn day(offset: i64) -> String {
    // Days since 1970-01-01 of 2026-01-01.
    let days = 20_454 + offset;
    // Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms": civil_from_days.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        assert_eq!(day(0), "2026-01-01");
        assert_eq!(day(59), "2026-03-01");
        assert_eq!(day(-1), "2025-12-31");
        assert_eq!(day(540), "2027-06-25");
        assert_eq!(day(2 * 365 + 59), "2028-02-29");
    }

    #[test]
    fn sentences_have_their_length_and_no_blank_at_an_end() {
        let mut rng = rand::rng();
        for length in 10..200 {
            let sentence = sentence(&mut rng, length, length);
            assert_eq!(sentence.len(), length);
            assert_eq!(sentence.trim(), sentence);
        }
    }
}
