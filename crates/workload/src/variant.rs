//! Variants: a server with some of its knobs set, as in `apache:mpm=prefork,max_request_workers=64`, and with kernel
//! settings, as in `nginx:net.ipv4.tcp_autocorking=0`. Applying kernel settings is left to `host`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use host::knobs::{InvalidKnob, KnobValues};

use crate::definition::{
    FileError, INSTANCES, ISOLATED_CPUS, ISOLATION, InvalidValue, Knob, MALLOC_ARENAS, NoSuchKnob,
    PreloadedAllocator, TypedValue, Workload, own_build,
};
use crate::names::UnknownName;

/// A server of a workload with some of its knobs set; the others keep their defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerVariant {
    /// The server's name.
    pub server: String,
    /// The knobs that are set.
    pub knobs: BTreeMap<String, TypedValue>,
    /// The kernel settings while it runs. Only the kernel can check their values.
    pub kernel: KnobValues,
}

/// Whether a name is that of a kernel setting: it has a dot or a slash, which no knob's name has.
pub fn is_kernel_setting(name: &str) -> bool {
    name.contains(['.', '/'])
}

impl ServerVariant {
    /// How many copies of the server share one load.
    pub fn instances(&self) -> u16 {
        match self.knobs.get(INSTANCES) {
            Some(TypedValue::Integer(count)) => u16::try_from(*count).unwrap_or(u16::MAX).max(1),
            _ => 1,
        }
    }

    /// The build that runs instead of the package's program.
    pub fn own_build(&self) -> Option<&Path> {
        own_build(&self.knobs)
    }

    /// Whether each copy has a share of the CPUs for itself.
    pub fn has_own_cpus(&self) -> bool {
        self.knobs.get(ISOLATION) == Some(&TypedValue::Text(ISOLATED_CPUS.to_owned()))
    }

    /// Whether the variant asks how far its copies disturb each other: it has several, and says whether they are isolated.
    pub fn asks_for_neighbours(&self) -> bool {
        self.instances() > 1 && self.knobs.contains_key(ISOLATION)
    }
}

impl fmt::Display for ServerVariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.server)?;
        let knobs = self.knobs.iter().map(|(name, value)| format!("{name}={value}"));
        let kernel = self.kernel.iter().map(|(name, value)| format!("{name}={value}"));
        for (at, setting) in knobs.chain(kernel).enumerate() {
            write!(f, "{}{setting}", if at == 0 { ':' } else { ',' })?;
        }
        Ok(())
    }
}

/// Why a text is not a variant of a workload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VariantError {
    /// The text does not have the form of a variant.
    #[error(
        "{text:?} is not a variant ({reason}): write SERVER or SERVER:KNOB=VALUE,KNOB=VALUE, with @HOST behind SERVER for another machine"
    )]
    Malformed {
        /// The text as written.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A server that the workload does not have.
    #[error(transparent)]
    Server(#[from] UnknownName),
    /// A knob that the server does not have.
    #[error(transparent)]
    Knob(#[from] NoSuchKnob),
    /// A value that the knob does not accept.
    #[error("server {server}: knob {knob}: {source}")]
    Value {
        /// The server.
        server: String,
        /// The knob.
        knob: String,
        /// The value.
        source: InvalidValue,
    },
    /// A value with a password, which the plan would record.
    #[error(
        "server {server}: knob {knob}: its value has a password, which the plan would record: let the server read it from a \
         file or from `environment` in workload.toml"
    )]
    Secret {
        /// The server.
        server: String,
        /// The knob.
        knob: String,
    },
    /// A knob of one allocator with another one.
    #[error(
        "server {server}: malloc_arenas is a number of glibc's allocator, and {allocator} takes its place: leave one of the two out"
    )]
    OtherAllocator {
        /// The server.
        server: String,
        /// The allocator.
        allocator: &'static str,
    },
    /// A name that looks like a kernel setting but is not one.
    #[error(transparent)]
    Kernel(#[from] InvalidKnob),
}

/// A variant as written, not yet checked against a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariantText {
    /// The server's name.
    pub server: String,
    /// The name of its machine, which is written behind the server's: `nginx@old`; or a kind of machines: `nginx@kind:small`.
    pub host: Option<String>,
    /// Names and values in the order written.
    pub settings: Vec<(String, String)>,
}

/// What stands between a server and a kind of machines.
const OF_KIND: &str = "@kind:";

/// Server, machine and settings of a variant as written; none for what it does not name.
fn parts(text: &str) -> (&str, Option<&str>, Option<&str>) {
    // The colon of a kind does not begin the settings.
    let of_kind = text.find(OF_KIND).filter(|at| !text[..*at].contains(':'));
    let settings_from = of_kind.map_or(0, |at| at + OF_KIND.len());
    let (server, settings) = match text[settings_from..].find(':') {
        Some(at) => (&text[..settings_from + at], Some(&text[settings_from + at + 1..])),
        None => (text, None),
    };
    match server.split_once('@') {
        Some((server, host)) => (server, Some(host), settings),
        None => (server, None, settings),
    }
}

/// Whether a variant as written names its machine.
pub fn names_host(text: &str) -> bool {
    parts(text).1.is_some()
}

/// A variant as written, on this machine instead of the one that it names.
pub fn on_host(text: &str, host: &str) -> String {
    let (server, _, settings) = parts(text);
    let settings = settings.map_or_else(String::new, |settings| format!(":{settings}"));
    format!("{server}@{host}{settings}")
}

impl FromStr for VariantText {
    type Err = VariantError;

    fn from_str(text: &str) -> Result<Self, VariantError> {
        let malformed = |reason: String| VariantError::Malformed { text: text.to_owned(), reason };
        let (server, host, settings) = parts(text);
        let host = host.map(|host| host.trim().to_owned());
        if server.trim().is_empty() {
            return Err(malformed("it does not name a server".to_owned()));
        }
        if host.as_deref() == Some("") {
            return Err(malformed("it does not name a host".to_owned()));
        }
        let mut variant = Self { server: server.trim().to_owned(), host, settings: Vec::new() };
        for setting in settings.into_iter().flat_map(|settings| settings.split(',')) {
            let (name, value) = setting
                .split_once('=')
                .map(|(name, value)| (name.trim(), value.trim()))
                .filter(|(name, value)| !name.is_empty() && !value.is_empty())
                .ok_or_else(|| malformed(format!("{setting:?} is not KNOB=VALUE")))?;
            if variant.settings.iter().any(|(earlier, _)| earlier == name) {
                return Err(malformed(format!("{name} is set twice")));
            }
            variant.settings.push((name.to_owned(), value.to_owned()));
        }
        Ok(variant)
    }
}

impl Workload {
    /// Checks the settings of a variant, which are knobs and kernel settings with their values as text.
    pub fn variant<'a>(
        &self,
        server: &str,
        settings: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<ServerVariant, VariantError> {
        self.variant_with(server, settings, Knob::parse_here)
    }

    /// Checks the settings of a variant for another machine: files that they name are not looked for on this one.
    pub fn variant_elsewhere<'a>(
        &self,
        server: &str,
        settings: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<ServerVariant, VariantError> {
        self.variant_with(server, settings, Knob::parse)
    }

    /// The workload whose operations have the numbers of this variant with this many users: itself, if it has them already.
    pub fn for_variant(&self, variant: &ServerVariant, users: u32) -> Result<Cow<'_, Self>, FileError> {
        self.with_numbers(&variant.server, &variant.knobs, users)
    }

    fn variant_with<'a>(
        &self,
        server: &str,
        settings: impl IntoIterator<Item = (&'a str, &'a str)>,
        parse: fn(&Knob, &str) -> Result<TypedValue, InvalidValue>,
    ) -> Result<ServerVariant, VariantError> {
        let definition = self.server(server)?;
        let mut variant =
            ServerVariant { server: server.to_owned(), knobs: BTreeMap::new(), kernel: BTreeMap::new() };
        for (name, text) in settings {
            if is_kernel_setting(name) {
                variant.kernel.insert(name.parse()?, text.to_owned());
            } else {
                if host::secrets::mask_text(text) != text {
                    return Err(VariantError::Secret { server: server.to_owned(), knob: name.to_owned() });
                }
                let value = parse(definition.knob(name)?, text).map_err(|source| {
                    let (server, knob) = (server.to_owned(), name.to_owned());
                    VariantError::Value { server, knob, source }
                })?;
                variant.knobs.insert(name.to_owned(), value);
            }
        }
        let other = PreloadedAllocator::of(&variant.knobs).filter(|allocator| !allocator.is_glibc());
        if let (Some(allocator), Some(TypedValue::Integer(1..))) = (other, variant.knobs.get(MALLOC_ARENAS)) {
            return Err(VariantError::OtherAllocator {
                server: server.to_owned(),
                allocator: allocator.name,
            });
        }
        Ok(variant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::{DEFINITION, Folder};

    fn refused(text: &str) -> String {
        match text.parse::<VariantText>() {
            Err(error) => error.to_string(),
            Ok(written) => {
                let folder = Folder::built_in("static-web").expect("static-web is built in");
                let workload = Workload::read(&folder, DEFINITION).expect("static-web is well-formed");
                let settings = written.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
                workload.variant(&written.server, settings).expect_err(text).to_string()
            }
        }
    }

    #[test]
    fn a_variant_displays_as_it_was_written() -> Result<(), Box<dyn std::error::Error>> {
        let folder = Folder::built_in("static-web").expect("static-web is built in");
        let workload = Workload::read(&folder, DEFINITION)?;
        for text in [
            "nginx",
            "apache:mpm=prefork",
            "nginx:sendfile=off,worker_processes=4",
            "nginx:sendfile=off,/sys/kernel/mm/transparent_hugepage/enabled=never,net.core.somaxconn=128",
        ] {
            let written: VariantText = text.parse()?;
            let settings = written.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
            assert_eq!(workload.variant(&written.server, settings)?.to_string(), text);
        }
        Ok(())
    }

    #[test]
    fn a_variant_may_have_a_machine() {
        let text: VariantText = "nginx@old:sendfile=off".parse().expect("a variant");
        assert_eq!((text.server.as_str(), text.host.as_deref()), ("nginx", Some("old")));
        assert_eq!(text.settings, [("sendfile".to_owned(), "off".to_owned())]);
        for (written, kind, settings) in
            [("nginx@kind:m5.large", "kind:m5.large", 0), ("nginx@kind:small:sendfile=off", "kind:small", 1)]
        {
            let text: VariantText = written.parse().expect("a variant");
            assert_eq!((text.host.as_deref(), text.settings.len()), (Some(kind), settings), "{written}");
        }
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_defined_names() {
        let beginning =
            "workload static-web has no server \"ngnix\" (did you mean \"nginx\"? available: apache, ";
        assert!(refused("ngnix").starts_with(beginning));
        assert!(refused("apache:sendfil=on").contains(
            "server apache has no knob \"sendfil\" (did you mean \"sendfile\"? available: access_log, "
        ));
        assert_eq!(
            refused("apache:mpm=evnt"),
            "server apache: knob mpm: \"evnt\" is not one of event, worker, prefork"
        );
        assert!(refused("nginx:allocator=jemalloc,malloc_arenas=1").contains("jemalloc takes its place"));
        assert!(refused("nginx:worker_processes=0").contains("is not a whole number from 1 to"));
        assert_eq!(
            refused("nginx:/etc/passwd=1"),
            "\"/etc/passwd\" is not a kernel setting: give a sysctl name, such as net.core.somaxconn, or a file below /sys"
        );
    }

    #[test]
    fn a_malformed_variant_is_refused_with_the_correct_form() {
        for text in [
            "",
            ":a=1",
            "nginx:",
            "nginx:sendfile",
            "nginx:=1",
            "nginx@",
            "@old",
            "nginx:a=1,a=2",
            "nginx:a=1,",
        ] {
            assert!(refused(text).contains("write SERVER or SERVER:KNOB=VALUE"), "{text}");
        }
    }
}
