//! A timer wheel: one timer for each of very many numbered slots, set, moved and taken in constant time (Varghese and Lauck,
//! SOSP 1987, scheme 6). Timers further away than the wheel is long fire early: their owner sets them again.

use std::time::Duration;

use crate::clock::Nanos;

/// The resolution: finer than any pace, and coarse enough that an idle process wakes rarely.
const TICK: Duration = Duration::from_millis(10);

/// Ticks of one turn of the wheel: 82 s.
const TICKS: u64 = 8_192;

/// No slot.
const NONE: u32 = u32::MAX;

/// The place of a slot in the list of its tick.
#[derive(Clone, Copy)]
struct Place {
    before: u32,
    after: u32,
    /// The tick in whose list it is; none where it has no timer.
    tick: Option<u64>,
}

/// The timers of all slots.
pub(super) struct Wheel {
    origin: Nanos,
    /// The next tick whose list is not empty, or that has not come.
    tick: u64,
    heads: Vec<u32>,
    places: Vec<Place>,
}

impl Wheel {
    /// Timers for this many slots, none of them set.
    pub fn new(now: Nanos, slots: usize) -> Self {
        let unset = Place { before: NONE, after: NONE, tick: None };
        Self { origin: now, tick: 0, heads: vec![NONE; TICKS as usize], places: vec![unset; slots] }
    }

    fn tick_of(&self, at: Nanos) -> u64 {
        at.since(self.origin).0 / TICK.as_nanos() as u64
    }

    /// Sets the timer of a slot, also where it is set already.
    pub fn set(&mut self, slot: u32, at: Nanos) {
        self.clear(slot);
        let tick = self.tick_of(at).clamp(self.tick, self.tick + TICKS - 1);
        let head = &mut self.heads[(tick % TICKS) as usize];
        let after = std::mem::replace(head, slot);
        self.places[slot as usize] = Place { before: NONE, after, tick: Some(tick) };
        if after != NONE {
            self.places[after as usize].before = slot;
        }
    }

    /// Removes the timer of a slot, if it has one.
    pub fn clear(&mut self, slot: u32) {
        let Place { before, after, tick } = self.places[slot as usize];
        let Some(tick) = tick else { return };
        match before {
            NONE => self.heads[(tick % TICKS) as usize] = after,
            before => self.places[before as usize].after = after,
        }
        if after != NONE {
            self.places[after as usize].before = before;
        }
        self.places[slot as usize].tick = None;
    }

    /// Takes a timer that is due.
    pub fn take(&mut self, now: Nanos) -> Option<u32> {
        let last = self.tick_of(now);
        while self.tick <= last {
            let slot = self.heads[(self.tick % TICKS) as usize];
            if slot != NONE {
                self.clear(slot);
                return Some(slot);
            }
            if self.tick == last {
                return None;
            }
            self.tick += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn due(wheel: &mut Wheel, now: Nanos) -> Vec<u32> {
        let mut slots: Vec<u32> = std::iter::from_fn(|| wheel.take(now)).collect();
        slots.sort_unstable();
        slots
    }

    #[test]
    fn a_timer_is_moved_and_removed() {
        let start = Nanos(1_000_000_000);
        let mut wheel = Wheel::new(start, 3);
        let at = |ms| start.after(Duration::from_millis(ms));
        wheel.set(0, at(20));
        wheel.set(1, at(20));
        wheel.set(2, at(20));
        wheel.set(1, at(500));
        wheel.clear(2);
        assert_eq!(due(&mut wheel, at(10)), [0; 0]);
        assert_eq!(due(&mut wheel, at(30)), [0]);
        assert_eq!(due(&mut wheel, at(600)), [1]);
    }

    proptest! {
        #[test]
        fn every_timer_is_taken_once_and_at_most_a_tick_early(spans in proptest::collection::vec(0_u64..200_000, 1..200)) {
            let start = Nanos(7);
            let mut wheel = Wheel::new(start, spans.len());
            for (slot, &span) in spans.iter().enumerate() {
                wheel.set(slot as u32, start.after(Duration::from_millis(span)));
            }
            let mut taken = vec![0; spans.len()];
            let mut ms = 0;
            while ms < 200_100 {
                let now = start.after(Duration::from_millis(ms));
                while let Some(slot) = wheel.take(now) {
                    let due = start.after(Duration::from_millis(spans[slot as usize]));
                    if due.since(now) > Nanos::from(TICK) {
                        // Further away than the wheel is long.
                        prop_assert!(spans[slot as usize] >= (TICKS - 1) * 10);
                        wheel.set(slot, due);
                    } else {
                        taken[slot as usize] += 1;
                    }
                }
                ms += 170;
            }
            prop_assert!(taken.iter().all(|&count| count == 1), "{taken:?}");
        }
    }
}
