//! What a mix is: operations with their weights, and the data that they work on. Protocols that carry out the same
//! operations share one type of mix, so that servers of either can do the same work.

use std::any::Any;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::error::OperationError;
use super::options::{DriverOption, GivenOptions, OptionError};

/// The table of a workload that describes what the operations work on: `[load.keyspace]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MixSection {
    /// Its name.
    pub name: &'static str,
    /// The error where it is missing.
    pub missing: &'static str,
}

/// The operations of a kind of service.
pub trait Mix: Any + Clone + Debug + PartialEq + Send + Sync {
    /// One `[[op]]` table.
    type Operation: DeserializeOwned;
    /// What [`Self::SECTION`] holds; `()` where there is none.
    type Section: DeserializeOwned;
    /// The table beside the operations, if they need one.
    const SECTION: Option<MixSection>;
    /// Options of the command line that describe such a mix.
    const OPTIONS: &'static [DriverOption];

    /// Keys of `[load.users]` that are of this kind of service.
    const USER_KEYS: &'static [&'static str] = &[];

    /// Checks one operation by itself, for an error with its line.
    fn check_operation(_operation: &Self::Operation) -> Result<(), OperationError> {
        Ok(())
    }

    /// The mix that a workload describes.
    fn of_workload(section: Self::Section, operations: Vec<Self::Operation>) -> Self;

    /// The mix that users carry out; `own` has keys of [`Self::USER_KEYS`] only.
    fn of_users(
        section: Self::Section,
        _own: DeTable<'_>,
        operations: Vec<Spanned<DeValue<'_>>>,
    ) -> Result<Self, MixError> {
        Ok(Self::of_workload(section, parse_operations::<Self>(operations)?))
    }

    /// The mix that options describe.
    fn of_options(given: &GivenOptions) -> Result<Self, OptionError>;

    /// Only the operation at this index.
    #[must_use]
    fn only(&self, at: usize) -> Self;
}

/// Why a workload's description is no mix.
#[derive(Debug, thiserror::Error)]
pub enum MixError {
    /// It does not have the form of one.
    #[error(transparent)]
    Toml(#[from] toml::de::Error),
    /// An operation cannot be carried out.
    #[error("{error}")]
    Operation {
        /// Where it stands in the text.
        span: Range<usize>,
        /// What is wrong.
        error: OperationError,
    },
    /// The table beside the operations is missing.
    #[error("{0}")]
    NoSection(&'static str),
}

/// Reads a mix from the parts of a workload; `users` has the protocol's own keys of its users, if there are some.
pub(super) fn parse<M: Mix>(
    section: Option<Spanned<DeValue<'_>>>,
    users: Option<DeTable<'_>>,
    operations: Vec<Spanned<DeValue<'_>>>,
) -> Result<M, MixError> {
    let section = match (section, M::SECTION) {
        (Some(section), _) => M::Section::deserialize(ValueDeserializer::from(section))?,
        (None, Some(needed)) => return Err(MixError::NoSection(needed.missing)),
        (None, None) => {
            M::Section::deserialize(serde::de::value::UnitDeserializer::<toml::de::Error>::new())?
        }
    };
    match users {
        Some(own) => M::of_users(section, own, operations),
        None => Ok(M::of_workload(section, parse_operations::<M>(operations)?)),
    }
}

fn parse_operations<M: Mix>(operations: Vec<Spanned<DeValue<'_>>>) -> Result<Vec<M::Operation>, MixError> {
    let operation = |value: Spanned<DeValue<'_>>| {
        let span = value.span();
        let operation = M::Operation::deserialize(ValueDeserializer::from(value))?;
        M::check_operation(&operation).map_err(|error| MixError::Operation { span, error })?;
        Ok(operation)
    };
    operations.into_iter().map(operation).collect()
}

/// A mix of any kind.
#[derive(Clone, Debug)]
pub struct OperationMix(Arc<dyn AnyMix>);

trait AnyMix: Any + Debug + Send + Sync {
    fn only(&self, at: usize) -> OperationMix;
    fn is_equal(&self, other: &dyn AnyMix) -> bool;
}

impl<M: Mix> AnyMix for M {
    fn only(&self, at: usize) -> OperationMix {
        OperationMix::new(Mix::only(self, at))
    }

    fn is_equal(&self, other: &dyn AnyMix) -> bool {
        (other as &dyn Any).downcast_ref() == Some(self)
    }
}

impl OperationMix {
    /// Wraps a mix.
    pub fn new<M: Mix>(mix: M) -> Self {
        Self(Arc::new(mix))
    }

    /// The mix, if it is of this kind.
    pub fn get<M: Mix>(&self) -> Option<&M> {
        (&*self.0 as &dyn Any).downcast_ref()
    }

    /// Only the operation at this index.
    #[must_use]
    pub fn only(&self, at: usize) -> Self {
        self.0.only(at)
    }
}

impl PartialEq for OperationMix {
    fn eq(&self, other: &Self) -> bool {
        self.0.is_equal(&*other.0)
    }
}
