//! What is outside the mix of users as plain data. How it is written is in [`outside`](super::outside), and how it is carried out in
//! [`outside_load`](crate::outside_load).

use super::plan::UserPlan;
use crate::drivers::ProtocolSpec;

/// What is outside a mix, each with a user of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Outside<T> {
    /// Done before the load begins.
    pub before: Option<T>,
    /// Done again and again beside the load.
    pub beside: Vec<T>,
    /// Done when the load is over.
    pub after: Option<T>,
}

impl<T> Default for Outside<T> {
    fn default() -> Self {
        Self { before: None, beside: Vec::new(), after: None }
    }
}

impl<T> Outside<T> {
    /// All of it, in the order in which it begins.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.before.iter().chain(&self.beside).chain(&self.after)
    }

    /// The same with each one changed.
    pub fn map<U>(&self, change: impl Fn(&T) -> U) -> Outside<U> {
        Outside {
            before: self.before.as_ref().map(&change),
            beside: self.beside.iter().map(&change).collect(),
            after: self.after.as_ref().map(&change),
        }
    }
}

/// What one user outside the mix sends.
#[derive(Clone, Debug, PartialEq)]
pub struct OutsideSpec {
    /// Its operations.
    pub protocol: ProtocolSpec,
    /// Their order, and the delay after each.
    pub users: UserPlan,
}
