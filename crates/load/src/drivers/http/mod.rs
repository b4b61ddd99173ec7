//! HTTP/1.1: requests from a mix; each reply is checked against the expected one.
//!
//! | file | what it holds |
//! |---|---|
//! | [`spec`](HttpSpec) | a mix as plain data |
//! | [`expected`](Expected) | what a reply must have |
//! | `operation` | one request of it, ready to send, and the check of its reply |
//! | `reply` | what one connection has received of a reply |
//! | `coding` | the body of a compressed reply, for a text that is searched in it |
//! | [`query`](HttpQuery) | one GET outside of the load |
//! | [`scenario`] | users: operations of several requests, cookies, captured values |
//! | `statuses` | replies, counted by their status |
//! | [`driver`](HttpDriver) | the state machine for the engine |
//! | [`registration`](Http) | the protocol's registration |

mod coding;
mod driver;
mod expected;
mod operation;
mod query;
mod registration;
mod reply;
pub mod scenario;
mod spec;
mod statuses;

pub use driver::{HttpDialogue, HttpDriver};
pub use expected::{Expected, Statuses};
pub use query::{HttpQuery, HttpQueryError, check_headers};
pub use registration::{Http, HttpMix};
pub use spec::{HttpOperation, HttpSpec};
pub use statuses::status_of;
