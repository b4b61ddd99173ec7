//! Load in slices: short parts of a load whose connections stay open, with pauses in which the server, or another one, does
//! something else.
//!
//! | file | content |
//! |---|---|
//! | `length` | how long slices are |
//! | `loaded_server` | the load of one server, slice by slice |
//! | `merged` | slices of one load, merged |

mod length;
mod loaded_server;
mod merged;

pub use length::{LoopPace, SETTLE_CLOSED, SliceLength};
pub use loaded_server::{LoadedServer, is_renewal_due};
pub use merged::{DrawnSlice, MergedSlices, Slice};
