//! A static of a page as a step of its operation: what a browser asks for the first time, and what later.

use super::request::{StepRequest, TemplateContext};
use super::spec::HttpStep;
use crate::drivers::protocol::ALONE;
use crate::inputs::values::DeclaredValues;

/// The request of a browser for a static.
#[derive(Debug)]
pub(super) struct StaticStep {
    /// The number of the static.
    pub number: u16,
    /// Its path.
    pub path: String,
    /// The request that asks whether it has changed; none until a reply had its `Last-Modified`.
    pub revalidation: Option<StepRequest>,
}

impl StaticStep {
    /// A reply has told when the static was modified last. From now on it can be asked for again by that (RFC 9110, section 13.1.3).
    pub fn learn(&mut self, last_modified: &[u8], authority: &str) {
        // A date, as it will be sent: nothing that a template or a header would take for something else.
        let is_date = |byte: &u8| byte.is_ascii_alphanumeric() || b" ,:+-".contains(byte);
        let date =
            std::str::from_utf8(last_modified).ok().filter(|text| text.bytes().all(|byte| is_date(&byte)));
        let Some(date) = date else { return };
        let mut declared = DeclaredValues::default();
        let mut context =
            TemplateContext { names: &[], declared: &mut declared, share: ALONE, folder: None, authority };
        let headers = [("If-Modified-Since".to_owned(), date.to_owned())].into();
        let step = HttpStep { path: self.path.clone(), headers, ..HttpStep::default() };
        self.revalidation = StepRequest::new(&step, &mut context).ok();
    }
}
