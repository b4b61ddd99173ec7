//! `showdown load` from end to end: against real servers that the test starts, against servers that misbehave
//! in every way there is, and against users who mistype.
//!
//! Whether a measurement is valid depends on the machine that runs the tests, so nothing here asserts that; what is
//! invalid on any machine is asserted, and the rules have their own tests in `load`.

mod bad_input;
mod bad_servers;
mod client;
mod exact;
mod examples;
mod limits;
mod mail;
mod output;
mod servers;
mod tls;
mod truth;
mod villains;
