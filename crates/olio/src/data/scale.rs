//! How many rows a number of users has: the rule of the original, in which persons grow with users and tags level off at 5,000.

/// Numbers of rows that others depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    pub persons: u32,
    pub tags: u32,
    pub events: u32,
}

impl Scale {
    /// The rows for so many simultaneous users.
    pub fn of(users: u32) -> Self {
        let persons = users * 100;
        let decay = (-f64::from(persons) / 10_000.0).exp();
        let tags = (5_000.0 * (1.0 - decay) / (1.0 + decay)).round() as u32;
        Self { persons, tags, events: 3 * tags }
    }
}

/// Thousands of files would be slow in one directory: `012/000` for object 12, so that neighbours are apart.
pub fn folder(id: u64) -> String {
    format!("{:03}/{:03}", id % 1_000, id / 1_000_000 % 1_000)
}
