//! Short comparisons and sweeps from end to end: of servers, and of programs that generate their own load.

mod disturbed;
mod external;
mod home;
mod methods;
mod trust;
mod verbs;
mod workloads;
