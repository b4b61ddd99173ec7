//! x
use crate::data;
use crate::stack::Implementation;
use anyhow::Result;
use clap::Args;
/// What to prove.
#[derive(Args)]
pub struct Request {
    implementation: Implementation,
    #[command(flatten)]
    data: data::Request,
}
pub fn run(_request: &Request) -> Result<()> { Ok(()) }
