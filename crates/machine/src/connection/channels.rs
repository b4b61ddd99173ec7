//! What the channels of programs need of a connection.

use super::Shared;
use crate::connection::program_channel::ChannelLink;
use crate::errors::machine::MachineError;
use crate::frame::encode;
use crate::host_text::host_text;
use crate::mutex::locked;
use crate::protocol::{ToAgent, ToProgram};

impl ChannelLink for Shared {
    fn send(&self, channel: u64, message: ToProgram) {
        // What is too long for a frame is no line of a program.
        if let Ok(frame) = encode(&ToAgent::Program { channel, message }) {
            Self::send(self, frame);
        }
    }

    fn forget(&self, channel: u64) {
        locked(&self.pending).programs.remove(&channel);
    }

    fn failed(&self, program: &'static str, why: &str) -> std::io::Error {
        let (host, why) = (self.host.clone(), host_text(why));
        std::io::Error::other(MachineError::Program { host, program, why })
    }

    fn lost(&self) -> std::io::Error {
        let (reason, remedy) = Self::lost(self);
        std::io::Error::other(MachineError::Lost { host: self.host.clone(), reason, remedy })
    }
}
