//! What a trial leaves in the archive: its telemetry, its phases, the use of its server, and when it was loaded. What was measured is left
//! to [`measurement`](super::measurement).

pub mod load_windows;
pub mod phases;
pub mod recorders;
pub mod server_usage;
