//! A client of one agent.

use std::sync::Arc;
use std::time::Duration;

use crate::connection::Connection;
use crate::errors::machine::MachineError;
use crate::protocol::{Call, CallError};

/// How long an answer may take on a host that is busy. A host that is lost is noticed earlier, by its silence.
pub(super) const LONGEST_ANSWER: Duration = Duration::from_mins(2);

/// How long a server may take to be installed, to start, or to get its data. Each step has its own limit over there.
pub(super) const LONGEST_SERVER_STEP: Duration = Duration::from_hours(6);

/// An agent.
pub(super) struct AgentClient {
    /// Its host's name.
    pub host: String,
    pub connection: Arc<Connection>,
}

impl AgentClient {
    /// Sends a call and waits for its answer, also after an interruption.
    pub fn call<C: Call>(&self, call: C, longest: Duration) -> Result<C::Answer, MachineError> {
        self.connection.call_to_end(call, longest).map_err(|error| match error {
            MachineError::Call { source: CallError::Interrupted, .. } => MachineError::Interrupted,
            other => other,
        })
    }
}
