//! What a knob may be set to: the types of values, the forms of texts, and what other values change.

pub mod knob_type;
pub mod text_form;
