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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_grow_as_in_the_original() {
        assert_eq!(Scale::of(25), Scale { persons: 2_500, tags: 622, events: 1_866 });
        assert_eq!(Scale::of(100), Scale { persons: 10_000, tags: 2_311, events: 6_933 });
        assert_eq!(Scale::of(1_000), Scale { persons: 100_000, tags: 5_000, events: 15_000 });
    }

    #[test]
    fn neighbours_are_in_different_folders() {
        assert_eq!(folder(12), "012/000");
        assert_eq!(folder(7_000_013), "013/007");
    }
}
