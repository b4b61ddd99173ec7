//! Fields of forms and their checks: the same rules, in the same order, with the same words in all implementations.

use std::collections::{BTreeSet, HashMap};

use axum::extract::Multipart;

use super::replies::Problem;

/// What a form has sent, or nothing of it.
#[derive(Default)]
pub struct Form {
    fields: HashMap<String, String>,
    files: HashMap<String, Vec<u8>>,
}

impl Form {
    pub async fn read(mut parts: Multipart) -> Result<Self, Problem> {
        let mut form = Self::default();
        while let Some(part) = parts.next_field().await.map_err(|_| Problem::BadRequest)? {
            let name = part.name().unwrap_or_default().to_owned();
            let is_file = part.file_name().is_some();
            let bytes = part.bytes().await.map_err(|_| Problem::BadRequest)?;
            if is_file {
                form.files.insert(name, bytes.into());
            } else {
                form.fields.insert(name, String::from_utf8_lossy(&bytes).trim().to_owned());
            }
        }
        Ok(form)
    }

    /// The field, without blanks around it; empty if it was not sent.
    pub fn get(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }

    /// The file; empty if none was sent.
    pub fn file(&self, name: &str) -> &[u8] {
        self.files.get(name).map_or(&[], Vec::as_slice)
    }

    /// The tags in the order of the alphabet, each once.
    pub fn tags(&self) -> BTreeSet<String> {
        self.get("tags").to_lowercase().split_whitespace().map(str::to_owned).collect()
    }
}

/// Collects what is wrong with a form.
pub struct Checks<'f> {
    form: &'f Form,
    pub errors: Vec<String>,
}

impl<'f> Checks<'f> {
    pub fn of(form: &'f Form) -> Self {
        Self { form, errors: Vec::new() }
    }

    fn require(&mut self, holds: bool, error: String) {
        if !holds {
            self.errors.push(error);
        }
    }

    /// So many characters.
    pub fn length(&mut self, name: &str, least: usize, most: usize) {
        let length = self.form.get(name).chars().count();
        self.require((least..=most).contains(&length), format!("{name}: {least} to {most} characters"));
    }

    pub fn telephone(&mut self) {
        let telephone = self.form.get("telephone");
        let holds = (7..=20).contains(&telephone.len())
            && telephone.bytes().all(|byte| byte.is_ascii_digit() || b" +-".contains(&byte));
        self.require(holds, "telephone: 7 to 20 digits".to_owned());
    }

    pub fn address(&mut self) {
        self.length("street1", 1, 55);
        self.length("street2", 0, 55);
        self.length("city", 1, 55);
        self.length("state", 1, 25);
        self.require(is_zip(self.form.get("zip")), "zip: five digits".to_owned());
        self.length("country", 1, 55);
    }

    pub fn time(&mut self) {
        self.require(is_date(self.form.get("date")), "date: a day".to_owned());
        self.require(is_number(self.form.get("hour"), 23), "hour: 0 to 23".to_owned());
        self.require(is_number(self.form.get("minute"), 59), "minute: 0 to 59".to_owned());
    }

    pub fn tags(&mut self) {
        let tags = self.form.tags();
        let holds = (1..=7).contains(&tags.len()) && tags.iter().all(|tag| is_tag(tag));
        self.require(holds, "tags: 1 to 7 words of letters, digits and hyphens".to_owned());
    }

    pub fn username(&mut self) {
        let name = self.form.get("username");
        let holds = (6..=25).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
        self.require(holds, "username: 6 to 25 letters and digits".to_owned());
    }

    pub fn passwords(&mut self) {
        self.length("password", 1, 72);
        let holds = self.form.get("password") == self.form.get("password2");
        self.require(holds, "password2: the same password again".to_owned());
    }

    pub fn email(&mut self) {
        self.length("email", 3, 90);
        self.require(self.form.get("email").contains('@'), "email: an address with @".to_owned());
    }

    pub fn image(&mut self) {
        let holds = self.form.file("image").starts_with(b"\xFF\xD8\xFF");
        self.require(holds, "image: a JPEG file".to_owned());
    }

    pub fn literature(&mut self) {
        let file = self.form.file("literature");
        self.require(file.is_empty() || file.starts_with(b"%PDF"), "literature: a PDF file".to_owned());
    }
}

/// A field of a form without files, without blanks around it; empty if it was not sent.
pub fn field<'f>(fields: &'f HashMap<String, String>, name: &str) -> &'f str {
    fields.get(name).map_or("", |field| field.trim())
}

/// Small letters, digits and hyphens, 30 at most.
pub fn is_tag(text: &str) -> bool {
    (1..=30).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

/// Five digits.
pub fn is_zip(text: &str) -> bool {
    text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// One or two digits, at most this number.
fn is_number(text: &str, most: u32) -> bool {
    (1..=2).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_digit())
        && text.parse().is_ok_and(|number: u32| number <= most)
}

/// A day of the calendar as `YYYY-MM-DD`, from the year 1000 on.
pub fn is_date(text: &str) -> bool {
    let [year, month, day] = text.split('-').collect::<Vec<_>>()[..] else { return false };
    let is_form = year.len() == 4 && month.len() == 2 && day.len() == 2;
    let (Ok(year), Ok(month), Ok(day)) = (year.parse::<u32>(), month.parse::<u32>(), day.parse::<u32>())
    else {
        return false;
    };
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 => 28 + u32::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    is_form && year >= 1_000 && (1..=12).contains(&month) && (1..=days).contains(&day)
}
