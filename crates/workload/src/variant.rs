//! Variants: a server and the knobs that are set on it, as in `apache:mpm=prefork,max_request_workers=64`, and
//! what is set of the kernel beneath it, as in `nginx:net.ipv4.tcp_autocorking=0`. Setting the kernel is left to
//! `host`.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use host::knobs::{InvalidKnob, Knob as KernelSetting};

use crate::definition::{INSTANCES, TypedValue, Workload};

/// A server of a workload with some of its knobs set; the others keep their defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerVariant {
    /// The server's name.
    pub server: String,
    /// The knobs that are set.
    pub knobs: BTreeMap<String, TypedValue>,
    /// The settings of the kernel that hold while it runs. Only the kernel knows which values they take.
    pub kernel: BTreeMap<KernelSetting, String>,
}

/// Whether a name is that of a setting of the kernel: no knob's name has a dot or a slash in it.
pub fn is_kernel_setting(name: &str) -> bool {
    name.contains(['.', '/'])
}

impl ServerVariant {
    /// How many servers like this stand behind one load.
    pub fn instances(&self) -> u16 {
        match self.knobs.get(INSTANCES) {
            Some(TypedValue::Integer(count)) => u16::try_from(*count).unwrap_or(u16::MAX).max(1),
            _ => 1,
        }
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

/// Why a variant is none of a workload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VariantError {
    /// The text is not of the form that variants have.
    #[error("{text:?} is no variant ({reason}): write SERVER or SERVER:KNOB=VALUE,KNOB=VALUE")]
    Malformed {
        /// As written.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A server, a knob or a value that does not exist.
    #[error("{0}")]
    Unknown(String),
    /// What looks like a setting of the kernel and names none.
    #[error(transparent)]
    Kernel(#[from] InvalidKnob),
}

/// A variant as written, not yet held against a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariantText {
    /// The server's name.
    pub server: String,
    /// Names and values in the order written.
    pub settings: Vec<(String, String)>,
}

impl FromStr for VariantText {
    type Err = VariantError;

    fn from_str(text: &str) -> Result<Self, VariantError> {
        let malformed = |reason: String| VariantError::Malformed { text: text.to_owned(), reason };
        let (server, settings) = match text.split_once(':') {
            Some((server, settings)) => (server, Some(settings)),
            None => (text, None),
        };
        if server.trim().is_empty() {
            return Err(malformed("it names no server".to_owned()));
        }
        let mut variant = Self { server: server.trim().to_owned(), settings: Vec::new() };
        for setting in settings.into_iter().flat_map(|settings| settings.split(',')) {
            let (name, value) = setting
                .split_once('=')
                .map(|(name, value)| (name.trim(), value.trim()))
                .filter(|(name, value)| !name.is_empty() && !value.is_empty())
                .ok_or_else(|| malformed(format!("{setting:?} sets nothing")))?;
            if variant.settings.iter().any(|(earlier, _)| earlier == name) {
                return Err(malformed(format!("{name} is set twice")));
            }
            variant.settings.push((name.to_owned(), value.to_owned()));
        }
        Ok(variant)
    }
}

impl Workload {
    /// A variant of it, its knobs given as text, and settings of the kernel among them.
    pub fn variant<'a>(
        &self,
        server: &str,
        settings: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<ServerVariant, VariantError> {
        let definition = self.server(server).map_err(VariantError::Unknown)?;
        let value_of = |name: &str, text: &str| -> Result<TypedValue, String> {
            definition.knob(name)?.parse(text).map_err(|why| format!("knob {name}: {why}"))
        };
        let mut variant =
            ServerVariant { server: server.to_owned(), knobs: BTreeMap::new(), kernel: BTreeMap::new() };
        for (name, text) in settings {
            if is_kernel_setting(name) {
                variant.kernel.insert(name.parse()?, text.to_owned());
            } else {
                let value = value_of(name, text)
                    .map_err(|why| VariantError::Unknown(format!("server {server} {why}")))?;
                variant.knobs.insert(name.to_owned(), value);
            }
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
                let folder = Folder::built_in("static-web").expect("it is built in");
                let workload = Workload::read(&folder, DEFINITION).expect("it is well-formed");
                let settings = written.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
                workload.variant(&written.server, settings).expect_err(text).to_string()
            }
        }
    }

    #[test]
    fn a_variant_reads_as_it_is_written() -> Result<(), Box<dyn std::error::Error>> {
        let folder = Folder::built_in("static-web").expect("it is built in");
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
    fn what_does_not_exist_is_refused_with_what_there_is() {
        assert_eq!(
            refused("ngnix"),
            "workload static-web has no server \"ngnix\": did you mean \"nginx\"? there are apache, nginx"
        );
        assert!(refused("apache:sendfil=on").contains(
            "server apache has no knob \"sendfil\": did you mean \"sendfile\"? there are access_log, "
        ));
        assert_eq!(
            refused("apache:mpm=evnt"),
            "server apache knob mpm: \"evnt\" is not one of event, worker, prefork"
        );
        assert!(refused("nginx:worker_processes=0").contains("is not a whole number from 1 to"));
        assert_eq!(
            refused("nginx:/etc/passwd=1"),
            "\"/etc/passwd\" is not a kernel setting: give a sysctl name, such as net.core.somaxconn, or a file below /sys"
        );
    }

    #[test]
    fn what_is_no_variant_is_refused_with_the_form() {
        for text in ["", ":a=1", "nginx:", "nginx:sendfile", "nginx:=1", "nginx:a=1,a=2", "nginx:a=1,"] {
            assert!(refused(text).contains("write SERVER or SERVER:KNOB=VALUE"), "{text}");
        }
    }
}
