//! Plans: from a request to a [plan](archive::model::Plan) that leaves no default open, and the checks of one that comes from a file.
//! What the trials of a plan do is left to [`trial`](crate::trial).

#![deny(clippy::cast_possible_truncation)] // a count of the user's that is cut sends other requests

pub mod check;
pub mod cpus;
pub mod effects;
pub mod error;
pub mod fallback;
pub mod hosts;
pub mod kind;
pub mod kind_assignment;
pub mod label;
pub mod limits;
pub mod looks;
pub mod measure_names;
pub mod preset;
pub mod quiet_host;
pub mod request;
pub mod sweep_axis;
pub mod trial_order;
pub mod variant_point;
