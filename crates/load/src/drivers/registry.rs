//! The list of the protocols, and what follows from it: [`ProtocolSpec`], the same dispatch everywhere, and lookup by
//! name or by URL scheme. A protocol is added with one line in the list below.

use std::any::TypeId;
use std::fmt::{self, Debug, Formatter};
use std::ops::Deref;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::OperationError;
use super::mix::{self, Mix, MixError, MixSection, OperationMix};
use super::options::{DriverOption, GivenOptions, OptionError};
use super::password::PasswordSource;
use super::protocol::{
    DriverNames, DriverUse, Protocol, ServerAccess, SqlQuery, UrlPath, UrlScheme, WorkerShare,
};
use super::{http, memcache, redis, runner, smtp, sql};

macro_rules! protocols {
    ($($(#[$about:meta])* $variant:ident => $protocol:ty,)*) => {
        /// A protocol and its operations, as plain data.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "protocol", rename_all = "lowercase")]
        pub enum ProtocolSpec {
            $($(#[$about])* $variant(<$protocol as Protocol>::Spec),)*
        }

        /// All protocols.
        pub static PROTOCOLS: &[RegisteredProtocol] =
            &[$(RegisteredProtocol(&Entry::<$protocol> { wrap: ProtocolSpec::$variant }),)*];

        /// Their names.
        const NAMES: &[&str] = &[$(<$protocol as Protocol>::NAME,)*];

        impl ProtocolSpec {
            /// What is registered of the protocol.
            pub fn protocol(&self) -> RegisteredProtocol {
                match self {
                    $(Self::$variant(_) => {
                        RegisteredProtocol(&Entry::<$protocol> { wrap: ProtocolSpec::$variant })
                    })*
                }
            }

            /// See [`Protocol::names`].
            pub fn names(&self) -> Result<DriverNames, OperationError> {
                match self { $(Self::$variant(spec) => <$protocol>::names(spec),)* }
            }

            /// See [`Protocol::published`].
            pub(crate) fn published(&self) -> Self {
                match self { $(Self::$variant(spec) => Self::$variant(<$protocol>::published(spec)),)* }
            }

            /// See [`Protocol::password`].
            pub(crate) fn password(&mut self) -> Option<&mut PasswordSource> {
                match self { $(Self::$variant(spec) => <$protocol>::password(spec),)* }
            }

            /// See [`Protocol::starts_tls`].
            pub fn starts_tls(&self) -> bool {
                match self { $(Self::$variant(spec) => <$protocol>::starts_tls(spec),)* }
            }

            /// See [`Protocol::populate`].
            pub fn populate(&self) -> Vec<(Self, u64)> {
                match self {
                    $(Self::$variant(spec) => <$protocol>::populate(spec)
                        .into_iter()
                        .map(|(stage, operations)| (Self::$variant(stage), operations))
                        .collect(),)*
                }
            }

            /// See [`Protocol::drive`].
            pub(crate) fn drive<U: DriverUse>(
                &self,
                share: WorkerShare,
                user: U,
            ) -> Result<U::Output, OperationError> {
                match self { $(Self::$variant(spec) => <$protocol>::drive(spec, share, user),)* }
            }
        }
    };
}

protocols! {
    /// HTTP/1.1.
    Http => http::Http,
    /// memcached's text or meta protocol.
    Memcache => memcache::Memcache,
    /// RESP2, the protocol of Redis and its forks.
    Redis => redis::Redis,
    /// The protocol of MySQL and MariaDB.
    Mysql => sql::Mysql,
    /// The protocol of PostgreSQL.
    Postgres => sql::Postgres,
    /// SMTP.
    Smtp => smtp::Smtp,
    /// A program that makes its load itself.
    Runner => runner::Runner,
}

/// What is registered of a protocol, without its types: see [`Protocol`] for the meaning of each.
pub trait Registration: Sync {
    /// See [`Protocol::NAME`].
    fn name(&self) -> &'static str;
    /// See [`Protocol::CODEC`].
    fn codec(&self) -> Option<&'static str>;
    /// See [`Protocol::SCHEMES`].
    fn schemes(&self) -> &'static [UrlScheme];
    /// See [`Protocol::URL_PATH`].
    fn url_path(&self) -> UrlPath;
    /// See [`Protocol::ALPN`].
    fn alpn(&self) -> Option<&'static [u8]>;
    /// See [`Protocol::MAY_START_TLS`].
    fn may_start_tls(&self) -> bool;
    /// See [`Protocol::ENDS_CONNECTIONS`].
    fn ends_connections(&self) -> bool;
    /// See [`Protocol::PASSWORD_VARIABLE`].
    fn password_variable(&self) -> Option<&'static str>;
    /// See [`Protocol::TAKES_USER`].
    fn takes_user(&self) -> bool;
    /// See [`Protocol::HOURLY_COUNTERS`].
    fn hourly_counters(&self) -> &'static [&'static str];
    /// See [`Protocol::SQL_QUERY`].
    fn sql_query(&self) -> Option<SqlQuery>;
    /// See [`Protocol::MAKES_OWN_LOAD`].
    fn makes_own_load(&self) -> bool;
    /// The options of the protocol and of its mix.
    fn options(&self) -> Vec<&'static DriverOption>;
    /// See [`Mix::SECTION`].
    fn mix_section(&self) -> Option<MixSection>;
    /// Identifies the type of the mix: protocols with the same one can do the same work.
    fn mix_type(&self) -> TypeId;
    /// See [`Mix::USER_KEYS`].
    fn user_keys(&self) -> &'static [&'static str];
    /// Reads a mix from a workload's `[load.SECTION]`, the protocol's own keys of `[load.users]` and its `[[load.op]]` tables.
    fn parse_mix(
        &self,
        section: Option<Spanned<DeValue<'_>>>,
        users: Option<DeTable<'_>>,
        operations: Vec<Spanned<DeValue<'_>>>,
    ) -> Result<OperationMix, MixError>;
    /// A mix for a server; none if the mix is of another kind.
    fn spec(&self, mix: &OperationMix, access: &ServerAccess) -> Option<ProtocolSpec>;
    /// The load that options describe.
    fn spec_of_options(
        &self,
        given: &GivenOptions,
        access: &ServerAccess,
    ) -> Result<ProtocolSpec, OptionError>;
}

struct Entry<P: Protocol> {
    wrap: fn(P::Spec) -> ProtocolSpec,
}

impl<P: Protocol> Registration for Entry<P> {
    fn name(&self) -> &'static str {
        P::NAME
    }

    fn codec(&self) -> Option<&'static str> {
        P::CODEC
    }

    fn schemes(&self) -> &'static [UrlScheme] {
        P::SCHEMES
    }

    fn url_path(&self) -> UrlPath {
        P::URL_PATH
    }

    fn alpn(&self) -> Option<&'static [u8]> {
        P::ALPN
    }

    fn may_start_tls(&self) -> bool {
        P::MAY_START_TLS
    }

    fn ends_connections(&self) -> bool {
        P::ENDS_CONNECTIONS
    }

    fn password_variable(&self) -> Option<&'static str> {
        P::PASSWORD_VARIABLE
    }

    fn takes_user(&self) -> bool {
        P::TAKES_USER
    }

    fn hourly_counters(&self) -> &'static [&'static str] {
        P::HOURLY_COUNTERS
    }

    fn sql_query(&self) -> Option<SqlQuery> {
        P::SQL_QUERY
    }

    fn makes_own_load(&self) -> bool {
        P::MAKES_OWN_LOAD
    }

    fn options(&self) -> Vec<&'static DriverOption> {
        <P::Mix as Mix>::OPTIONS.iter().chain(P::OPTIONS).collect()
    }

    fn mix_section(&self) -> Option<MixSection> {
        <P::Mix as Mix>::SECTION
    }

    fn mix_type(&self) -> TypeId {
        TypeId::of::<P::Mix>()
    }

    fn user_keys(&self) -> &'static [&'static str] {
        <P::Mix as Mix>::USER_KEYS
    }

    fn parse_mix(
        &self,
        section: Option<Spanned<DeValue<'_>>>,
        users: Option<DeTable<'_>>,
        operations: Vec<Spanned<DeValue<'_>>>,
    ) -> Result<OperationMix, MixError> {
        mix::parse::<P::Mix>(section, users, operations).map(OperationMix::new)
    }

    fn spec(&self, mix: &OperationMix, access: &ServerAccess) -> Option<ProtocolSpec> {
        mix.get::<P::Mix>().map(|mix| (self.wrap)(P::spec(mix.clone(), access)))
    }

    fn spec_of_options(
        &self,
        given: &GivenOptions,
        access: &ServerAccess,
    ) -> Result<ProtocolSpec, OptionError> {
        let mut spec = P::spec(<P::Mix as Mix>::of_options(given)?, access);
        P::apply_options(&mut spec, given)?;
        Ok((self.wrap)(spec))
    }
}

/// A protocol of the list. Two are equal if they are the same protocol.
#[derive(Clone, Copy)]
pub struct RegisteredProtocol(&'static dyn Registration);

impl RegisteredProtocol {
    /// The protocol of this name, or of another one that its URLs may have: `memcached`, `mariadb`.
    pub fn by_name(name: &str) -> Option<Self> {
        let named = PROTOCOLS.iter().find(|protocol| protocol.name() == name).copied();
        named.or_else(|| {
            Self::by_scheme(name).filter(|(_, scheme)| !scheme.is_tls).map(|(protocol, _)| protocol)
        })
    }

    /// The protocol that a scheme of a URL leads to.
    pub fn by_scheme(scheme: &str) -> Option<(Self, &'static UrlScheme)> {
        PROTOCOLS.iter().find_map(|protocol| {
            let found = protocol.schemes().iter().find(|known| known.names.contains(&scheme))?;
            Some((*protocol, found))
        })
    }

    /// Whether servers of the two can do the same work.
    pub fn shares_mix_with(self, other: Self) -> bool {
        self.mix_type() == other.mix_type()
    }
}

impl Deref for RegisteredProtocol {
    type Target = dyn Registration;

    fn deref(&self) -> &Self::Target {
        self.0
    }
}

impl Debug for RegisteredProtocol {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl PartialEq for RegisteredProtocol {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for RegisteredProtocol {}

/// By its name, as a workload writes it.
impl<'de> Deserialize<'de> for RegisteredProtocol {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::by_name(&name).ok_or_else(|| D::Error::unknown_variant(&name, NAMES))
    }
}

/// Names as a sentence lists them: `http, redis and smtp`.
pub fn list_of<T: AsRef<str>>(names: &[T]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

#[cfg(test)]
mod tests;
