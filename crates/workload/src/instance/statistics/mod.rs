//! What a running server says of itself: its count of operations, and what an explanation observes. The forms of the texts are left to
//! [`replies`](super::replies).

pub mod ask;
pub mod observer;
pub mod operation_count;
