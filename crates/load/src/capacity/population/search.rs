//! Which population is loaded next: users who stay, or visits a second. Pure, so that tests run it against scripted servers.
//!
//! From where the scenario begins, the population doubles while it is carried and halves while it is not; between the largest that
//! was carried and the least that was not, it is halved on a logarithmic scale. The largest is then loaded once more: by chance, one
//! of several populations near the limit is carried once.

/// The search ends where the two are this near, as a ratio.
const NEAR: f64 = 1.05;
/// A population of visits has no search below this rate, visits a second.
const FEWEST_VISITS_PER_S: f64 = 0.01;
/// Most loads of a search.
const MOST_LOADS: u32 = 24;

/// Users, or visits a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Population {
    /// Users who stay.
    Users(u32),
    /// Visits that arrive in a second.
    Visits(f64),
}

impl Population {
    /// As a number.
    pub fn size(self) -> f64 {
        match self {
            Self::Users(users) => f64::from(users),
            Self::Visits(per_s) => per_s,
        }
    }

    /// Another number of the same kind. Users are whole, and one at least.
    fn of_size(self, size: f64) -> Self {
        match self {
            Self::Users(_) => Self::Users(size.round().clamp(1.0, f64::from(u32::MAX)) as u32),
            Self::Visits(_) => Self::Visits(size.max(FEWEST_VISITS_PER_S)),
        }
    }
}

/// A search under way.
#[derive(Clone, Debug)]
pub struct PopulationSearch {
    first: Population,
    most: Population,
    /// The largest that was carried, and how often.
    carried: Option<(Population, u32)>,
    /// Smaller ones that were carried, in case the largest is not a second time.
    carried_before: Vec<Population>,
    /// The least that was not.
    missed: Option<Population>,
    loads: u32,
}

impl PopulationSearch {
    /// A search that begins at this population, and never goes beyond another.
    pub fn new(first: Population, most: Population) -> Self {
        let first = if first.size() > most.size() { most } else { first };
        Self { first, most, carried: None, carried_before: Vec::new(), missed: None, loads: 0 }
    }

    /// The next population to load; none if the search is over.
    pub fn next(&self) -> Option<Population> {
        if self.loads >= MOST_LOADS {
            return None;
        }
        match (self.carried, self.missed) {
            (None, None) => Some(self.first),
            (None, Some(missed)) => {
                let half = missed.of_size(missed.size() / 2.0);
                (half.size() < missed.size()).then_some(half)
            }
            (Some((carried, times)), None) if carried == self.most => (times == 1).then_some(carried),
            (Some((carried, _)), None) => Some(carried.of_size((carried.size() * 2.0).min(self.most.size()))),
            (Some((carried, times)), Some(missed)) => {
                let between = carried.of_size((carried.size() * missed.size()).sqrt());
                let is_between = between.size() > carried.size() && between.size() < missed.size();
                if is_between && missed.size() > NEAR * carried.size() {
                    Some(between)
                } else {
                    (times == 1).then_some(carried)
                }
            }
        }
    }

    /// Adds whether the population of [`PopulationSearch::next`] was carried.
    pub fn add(&mut self, population: Population, is_carried: bool) {
        self.loads += 1;
        match (is_carried, self.carried) {
            (true, Some((known, times))) if known == population => self.carried = Some((known, times + 1)),
            (true, known) => {
                self.carried_before.extend(known.map(|(known, _)| known));
                self.carried = Some((population, 1));
            }
            (false, Some((known, _))) if known == population => {
                self.missed = Some(population);
                self.carried = self.carried_before.pop().map(|before| (before, 1));
            }
            (false, _) => self.missed = Some(population),
        }
    }

    /// About how many loads are left.
    pub fn left(&self) -> u32 {
        let halvings = match (self.carried, self.missed) {
            (Some((carried, _)), Some(missed)) => {
                ((missed.size() / carried.size()).ln() / NEAR.ln()).max(1.0).log2().ceil() as u32
            }
            // A factor of two takes four halvings.
            _ => 5,
        };
        (halvings + 1).min(MOST_LOADS - self.loads)
    }

    /// The largest population that was carried, if one was.
    pub fn carried(&self) -> Option<Population> {
        self.carried.map(|(population, _)| population)
    }

    /// The least that was not.
    pub fn missed(&self) -> Option<Population> {
        self.missed
    }

    /// Whether the largest is as large as a search may go: the capacity is at least that.
    pub fn is_at_most(&self) -> bool {
        self.missed.is_none() && self.carried() == Some(self.most)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Searches a server that carries this many. Returns the search, and its loads.
    fn search(first: Population, most: Population, capacity: f64) -> (PopulationSearch, u32) {
        let mut search = PopulationSearch::new(first, most);
        let mut loads = 0;
        while let Some(next) = search.next() {
            search.add(next, next.size() <= capacity);
            loads += 1;
        }
        (search, loads)
    }

    #[test]
    fn the_capacity_of_a_server_is_found_from_below_and_from_above() {
        for first in [10, 100, 5_000] {
            let (search, loads) = search(Population::Users(first), Population::Users(100_000), 740.0);
            let carried = search.carried().expect("some are carried").size();
            assert!(carried <= 740.0 && carried * NEAR >= 700.0, "{carried}");
            assert!(loads <= 14, "{loads} loads");
        }
    }

    #[test]
    fn a_server_that_carries_nobody_and_one_that_carries_all_have_an_answer() {
        let (search, _) = search(Population::Users(100), Population::Users(1_000), 0.0);
        assert_eq!((search.carried(), search.missed()), (None, Some(Population::Users(1))));
        let (search, _) = self::search(Population::Users(100), Population::Users(1_000), 1e9);
        assert!(search.is_at_most());
        assert_eq!(search.carried(), Some(Population::Users(1_000)));
    }

    #[test]
    fn a_population_that_is_carried_only_once_is_no_capacity() {
        let mut search = PopulationSearch::new(Population::Users(100), Population::Users(1_000));
        let mut loads_of_lucky = 0;
        while let Some(next) = search.next() {
            let is_lucky = next.size() > 500.0 && loads_of_lucky == 0;
            loads_of_lucky += u32::from(next.size() > 500.0);
            search.add(next, next.size() <= 500.0 || is_lucky);
        }
        let carried = search.carried().expect("some are carried").size();
        assert!((470.0..=500.0).contains(&carried), "{carried}");
    }

    proptest! {
        #[test]
        fn every_search_ends_with_what_is_carried_below_what_is_not(
            first in 1_u32..5_000, capacity in 0.0..20_000.0_f64, is_of_visits: bool,
        ) {
            let (first, most) = if is_of_visits {
                (Population::Visits(f64::from(first)), Population::Visits(10_000.0))
            } else {
                (Population::Users(first), Population::Users(10_000))
            };
            let (search, loads) = search(first, most, capacity);
            prop_assert!(loads <= MOST_LOADS);
            if let Some(carried) = search.carried() {
                prop_assert!(carried.size() <= capacity);
                prop_assert!(search.missed().is_none_or(|missed| missed.size() > carried.size()));
            }
        }
    }
}
