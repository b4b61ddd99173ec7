//! What all proofs share: what is asked for, the two sites that are compared, and what a proof has found.

use std::time::Duration;

use anyhow::Result;
use clap::Args;

use super::client::Client;
use super::tables::Tables;
use crate::data;
use crate::site::SessionStore;
use crate::stack::{Implementation, Stack};

/// Differences of one proof that are printed.
const MOST_PRINTED: usize = 5;

/// What to prove.
#[derive(Args)]
pub struct Request {
    /// The implementation
    pub implementation: Implementation,
    /// Changes that are made one after the other, and again from sixteen connections
    #[arg(long, default_value_t = 500)]
    pub changes: u32,
    /// Prove the proofs: put one cheat after the other before the implementation; each must be found
    #[arg(long)]
    pub cheats: bool,
    /// Where the sessions of both are
    #[arg(long, value_enum, default_value_t)]
    pub sessions: SessionStore,
    #[command(flatten)]
    pub data: data::DataChoice,
}

/// One of the two that are compared.
pub struct Site {
    pub stack: Stack,
    pub tables: Tables,
    pub client: Client,
}

/// What a proof has found.
pub struct Proof {
    pub name: &'static str,
    /// What was compared, with its number.
    pub compared: String,
    pub differences: Vec<String>,
}

impl Proof {
    /// A line, and the first differences.
    pub fn print(&self, took: Duration) {
        let verdict = if self.differences.is_empty() { "equal" } else { "DIFFERENT" };
        println!("{:<12} {verdict:<9} {} ({:.1} s)", self.name, self.compared, took.as_secs_f64());
        for difference in self.differences.iter().take(MOST_PRINTED) {
            println!("    {difference}");
        }
        if self.differences.len() > MOST_PRINTED {
            println!("    … and {} more", self.differences.len() - MOST_PRINTED);
        }
    }
}

impl Site {
    pub fn start(implementation: Implementation, request: &Request) -> Result<Self> {
        let stack = Stack::start(implementation, request.sessions, &request.data, 0)?;
        let tables = Tables::connect(stack.database_port, &stack.password, stack.cache_port)?;
        let mut client = Client::new(stack.port);
        // A session in a cookie is set anew by each reply.
        client.ignores_cookies = request.sessions == SessionStore::Native;
        Ok(Self { stack, tables, client })
    }

    /// A client without cookies for the same site.
    pub fn new_client(&self) -> Client {
        let mut client = Client::of(self.client.address);
        client.ignores_cookies = self.client.ignores_cookies;
        client
    }
}
