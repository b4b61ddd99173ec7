//! HTTP/1.1: requests from a mix; each reply is checked against the expected one.
//!
//! | file | what it holds |
//! |---|---|
//! | [`spec`](HttpSpec) | a mix as plain data |
//! | `operation` | one request of it, ready to send, and the check of its reply |
//! | `reply` | what one connection has received of a reply |
//! | [`driver`](HttpDriver) | the state machine for the engine |
//! | [`registration`](Http) | the protocol's registration |

mod driver;
mod operation;
mod registration;
mod reply;
mod spec;

pub use driver::{HttpDialogue, HttpDriver};
pub use registration::{Http, HttpMix};
pub use spec::{Expected, HttpOperation, HttpSpec, Statuses};
