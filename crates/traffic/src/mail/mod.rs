//! Mail: what a balancer does not see of a mail server. It counts sessions, and an answer of 4xx is in the middle of one. So the logs of the
//! servers are read.
//!
//! | module | content |
//! |---|---|
//! | [`line`] | one line of Postfix's log |
//! | [`ledger`] | messages of each server: turned away, deferred, in the queue, delivered twice |
//! | [`logs`] | the files, read once a second |

pub mod ledger;
pub mod line;
pub mod logs;
