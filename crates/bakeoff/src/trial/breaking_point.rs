//! The seam of a measure that another crate makes: with how many downloads in progress at once a server breaks. A trial starts the
//! server, and records and checks it as any other; what loads it is behind [`BreakingPoint`].

use std::error::Error;
use std::fmt;

use archive::model::{Concurrency, Plan};
use load::engine::RunContext;
use load::spec::LoadSpec;
use machine::{Machine, SystemUnderTest};
use workload::{ServerVariant, Workload};

use crate::event::Observer;

/// Why downloads cannot be raised: the thing, the reason and the remedy in one line.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct BreakingPointError(pub Box<dyn Error + Send + Sync>);

/// Finds breaking points.
pub trait BreakingPoint: fmt::Debug + Send + Sync {
    /// Gives a variant the settings of server and kernel for so many connections that it does not have. Refuses a plan that this
    /// machine cannot carry.
    fn fit(
        &self,
        plan: &Plan,
        workload: &Workload,
        variant: &mut ServerVariant,
        server_cpus: usize,
    ) -> Result<(), BreakingPointError>;

    /// Raises the downloads in progress on a server until it breaks, or until there are enough.
    fn find(
        &self,
        server: &BreakingServer<'_>,
        observe: &mut Observer<'_>,
    ) -> Result<FoundBreak, BreakingPointError>;
}

/// The server of a trial that is to break.
pub struct BreakingServer<'a> {
    /// The plan of the run.
    pub plan: &'a Plan,
    /// Its machine.
    pub machine: &'a dyn Machine,
    /// The server.
    pub sut: &'a dyn SystemUnderTest,
    /// The trial, by which its machine knows it.
    pub trial: u32,
    /// The variant's name.
    pub name: &'a str,
    /// Its CPUs.
    pub server_cpus: usize,
    /// Those of its clients.
    pub client_cpus: usize,
    /// What its clients send.
    pub load: LoadSpec,
    /// The value of an earlier trial of the same variant.
    pub hint: Option<f64>,
    /// The context of the engine.
    pub context: &'a RunContext,
}

/// What came of it.
#[derive(Debug)]
pub struct FoundBreak {
    /// Downloads in progress with which it breaks; the most that were tried where it does not; none where no step was maintained.
    pub value: Option<f64>,
    /// Why the value is no more than a lower bound.
    pub client_reasons: Vec<String>,
    /// Why there is none.
    pub reasons: Vec<String>,
    /// The steps.
    pub record: Concurrency,
}
