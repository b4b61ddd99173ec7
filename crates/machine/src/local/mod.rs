//! This machine, as [`Machine`](crate::Machine). An agent has one for its controller.

mod kernel_settings;
mod machine;
mod running_server;
mod squeezed;
mod variant_facts;

pub use machine::LocalMachine;
pub(crate) use running_server::RunningServer;
pub use variant_facts::knob_value;
