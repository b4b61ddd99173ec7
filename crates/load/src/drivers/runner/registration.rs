//! The registration of runners: programs that make their load themselves.

use serde::Deserialize;

use crate::drivers::error::OperationError;
use crate::drivers::mix::{Mix, MixSection};
use crate::drivers::options::{DriverOption, GivenOptions, OptionError};
use crate::drivers::protocol::{
    DriverUse, Protocol, RunnerSpec, ServerAccess, UrlPath, UrlScheme, WorkerShare,
};

/// A program that makes its load itself: see `docs/BYOD.md`.
#[derive(Debug)]
pub struct Runner;

/// Names of operations that only the program knows, with their weights.
#[derive(Clone, Debug, PartialEq)]
pub struct RunnerMix(pub Vec<(String, f64)>);

/// One operation of a workload.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunnerOperation {
    /// The name that the runner knows it by.
    pub name: String,
    /// Its share of the mix, relative to the others.
    #[serde(default = "one")]
    pub weight: f64,
}

fn one() -> f64 {
    1.0
}

impl Mix for RunnerMix {
    type Operation = RunnerOperation;
    type Section = ();
    const SECTION: Option<MixSection> = None;
    const OPTIONS: &'static [DriverOption] = &[];

    fn check_operation(operation: &RunnerOperation) -> Result<(), OperationError> {
        let RunnerOperation { name, weight } = operation;
        let refused = |what| Err(OperationError::about(&format!("operation {name:?}"), what));
        // The line that starts a run has `name=weight`, separated by blanks.
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || !name.chars().all(is_plain) {
            return refused("a name consists of letters, digits, -, _ and .");
        }
        if !weight.is_finite() || *weight <= 0.0 {
            return refused("give a weight above 0");
        }
        Ok(())
    }

    fn of_workload((): (), operations: Vec<RunnerOperation>) -> Self {
        Self(operations.into_iter().map(|operation| (operation.name, operation.weight)).collect())
    }

    /// No URL leads to a runner, so there are no options.
    fn of_options(_given: &GivenOptions) -> Result<Self, OptionError> {
        Ok(Self(Vec::new()))
    }

    fn only(&self, at: usize) -> Self {
        Self(vec![(self.0[at].0.clone(), 1.0)])
    }
}

impl Protocol for Runner {
    type Spec = RunnerSpec;
    type Mix = RunnerMix;

    const NAME: &'static str = "runner";
    const CODEC: Option<&'static str> = None;
    const SCHEMES: &'static [UrlScheme] = &[];
    const URL_PATH: UrlPath = UrlPath::Unused("a runner has no URL");
    const MAKES_OWN_LOAD: bool = true;

    fn spec(mix: RunnerMix, access: &ServerAccess) -> RunnerSpec {
        let (stdin, stdout) = access.pipes.clone().unwrap_or_default();
        RunnerSpec { stdin, stdout, mix: mix.0 }
    }

    fn drive<U: DriverUse>(
        spec: &RunnerSpec,
        _share: WorkerShare,
        user: U,
    ) -> Result<U::Output, OperationError> {
        Ok(user.runner(spec))
    }
}
