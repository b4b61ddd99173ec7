//! What a knob may be set to: the types of values, and the forms of texts.

pub mod knob_type;
pub mod text_form;
