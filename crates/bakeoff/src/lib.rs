//! Plan to trials to verdict: search, sweep, interleaving, gates, fairness.
