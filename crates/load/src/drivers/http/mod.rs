//! HTTP/1.1: requests from a mix, replies held against what is expected of them.
//!
//! | part | its idea |
//! |---|---|
//! | [`spec`](HttpSpec) | a mix as plain data |
//! | `operation` | one request of it, ready to be sent, and the validity of its reply |
//! | `reply` | what one connection has seen of a reply so far |
//! | [`driver`](HttpDriver) | the seam to the engine |

mod driver;
mod operation;
mod reply;
mod spec;

pub use driver::{HttpDialogue, HttpDriver};
pub use spec::{Expected, HttpOperation, HttpSpec, Statuses};
