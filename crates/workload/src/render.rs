//! Renders templates with minijinja: configuration files, arguments and environment variables. The caller sets the
//! [`TemplateVariables`].
//!
//! An undefined variable is an error. Rendered as an empty text, it could silently select a server's default.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;
use std::net::SocketAddr;
use std::path::Path;

use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior, Value};

/// The variables of every template beside the server's knobs. `password` is defined only where the server has
/// `password = true`. `user` and `group` are none unless this program runs as root. `https` is none unless the load
/// uses TLS, see [`https`]. `showdown` is the path of this program. `companion` has the companions that were started before.
pub const BUILT_IN: &[&str] = &[
    "host", "port", "address", "remote", "dir", "data", "here", "cpus", "cpu_list", "user", "group",
    "password", "showdown", "https", USERS, COMPANION,
];

/// The variable with the companions of a server that were started before.
pub const COMPANION: &str = "companion";

/// The variable with the number of users of the load, or of its connections.
pub const USERS: &str = "users";

/// What templates know of a companion: where it listens, and its directory. `socket` is none where it listens on its port.
pub fn companion(address: SocketAddr, directory: &Path, socket: Option<&Path>) -> Value {
    let (host, port) = (address.ip().to_string(), address.port());
    let (address, dir) = (address.to_string(), directory.to_string_lossy());
    let socket = socket.map(Path::to_string_lossy);
    minijinja::context! { host, port, address, dir, socket }
}

/// The variable `https`: `https.certificate` and `https.key` are paths of PEM files, `https.resumption` is true where
/// clients may resume sessions.
pub fn https(certificate: &Path, key: &Path, resumption: bool) -> Value {
    let (certificate, key) = (certificate.to_string_lossy(), key.to_string_lossy());
    minijinja::context! { certificate, key, resumption }
}

/// Steps of a template. A configuration file has some hundreds; nested loops of somebody else's workload would have no end.
const MOST_STEPS: u64 = 5_000_000;

/// Bytes of a text. A configuration file has some kilobytes.
const MOST_BYTES: usize = 16 << 20;

/// A text of limited length.
struct Bounded(Vec<u8>);

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MOST_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Why a template cannot be rendered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RenderError {
    /// The line within the template, from 1.
    pub line: usize,
    /// What is wrong on that line.
    pub message: String,
}

impl From<Error> for RenderError {
    fn from(error: Error) -> Self {
        let detail = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
        Self { line: error.line().unwrap_or(1), message: detail }
    }
}

/// The values of variables.
#[derive(Clone, Debug, Default)]
pub struct TemplateVariables(BTreeMap<String, Value>);

impl TemplateVariables {
    /// Sets a variable, and replaces an earlier value.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// The names of all variables.
    pub fn names(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }

    /// Renders a template.
    pub fn render(&self, template: &str) -> Result<String, RenderError> {
        let environment = environment();
        let mut rendered = Bounded(Vec::new());
        let done =
            environment.template_from_str(template)?.render_captured_to(&self.0, &mut rendered).map(drop);
        match done {
            Err(error) if error.kind() == ErrorKind::WriteFailure => Err(RenderError {
                line: error.line().unwrap_or(1),
                message: format!("its text is longer than {} MiB", MOST_BYTES >> 20),
            }),
            Err(error) => Err(error.into()),
            Ok(()) => Ok(String::from_utf8(rendered.0).expect("templates are text")),
        }
    }

    /// Renders a list of arguments, without those that become empty. So an argument can depend on a variable:
    /// `{% if user %}--user={{ user }}{% endif %}`.
    pub fn render_argv(&self, argv: &[String]) -> Result<Vec<String>, RenderError> {
        let rendered: Result<Vec<String>, RenderError> = argv.iter().map(|word| self.render(word)).collect();
        Ok(rendered?.into_iter().filter(|word| !word.is_empty()).collect())
    }
}

/// The names of the variables that a template uses.
pub fn variables(template: &str) -> Result<HashSet<String>, RenderError> {
    let environment = environment();
    let functions: HashSet<&str> = environment.globals().map(|(name, _)| name).collect();
    let names = environment.template_from_str(template)?.undeclared_variables(false);
    Ok(names.into_iter().filter(|name| !functions.contains(name.as_str())).collect())
}

/// What a template uses of this variable, as it writes it: `companion.database.port`.
pub fn members(template: &str, variable: &str) -> Result<BTreeSet<String>, RenderError> {
    let names = environment().template_from_str(template)?.undeclared_variables(true);
    Ok(names.into_iter().filter(|name| name.split('.').next() == Some(variable)).collect())
}

/// Settings for plain text: nothing is escaped, a final line feed is kept, and a line that contains only a condition
/// is removed.
fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_fuel(Some(MOST_STEPS));
    let mut syntax = SyntaxConfig::builder();
    syntax.keep_trailing_newline(true).trim_blocks(true).lstrip_blocks(true);
    environment.set_syntax(syntax.build().expect("the default delimiters are valid"));
    environment
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables_of_a_test() -> TemplateVariables {
        let mut variables = TemplateVariables::default();
        variables.set("port", 8080);
        variables.set("user", ());
        variables.set("sendfile", true);
        variables
    }

    #[test]
    fn a_condition_leaves_no_empty_line_and_nothing_is_escaped() -> Result<(), RenderError> {
        let template = "listen {{ port }};\n{% if sendfile %}\nsendfile on;\n{% endif %}\nroot \"/a&b\";\n";
        assert_eq!(variables_of_a_test().render(template)?, "listen 8080;\nsendfile on;\nroot \"/a&b\";\n");
        Ok(())
    }

    #[test]
    fn an_empty_argument_is_left_out() -> Result<(), RenderError> {
        let argv =
            ["memcached", "-p{{ port }}", "{% if user %}--user={{ user }}{% endif %}"].map(str::to_owned);
        assert_eq!(variables_of_a_test().render_argv(&argv)?, ["memcached", "-p8080"]);
        Ok(())
    }

    #[test]
    fn a_template_that_does_not_end_or_writes_without_end_is_an_error() {
        let refused = |template: &str| TemplateVariables::default().render(template).expect_err(template);
        let loops = "{% for a in range(9999) %}".repeat(4) + &"{% endfor %}".repeat(4);
        assert!(refused(&loops).message.contains("fuel"), "{}", refused(&loops).message);
        let long = "{% for a in range(9999) %}".to_owned() + &"x".repeat(1 << 14) + "{% endfor %}";
        assert_eq!(refused(&long).message, "its text is longer than 16 MiB");
    }

    #[test]
    fn an_undefined_variable_is_an_error_with_its_line() {
        let error = variables_of_a_test().render("a\n{{ prot }}").expect_err("prot is not defined");
        assert_eq!(error.line, 2);
        assert_eq!(variables_of_a_test().render("{% if %}").expect_err("the condition is empty").line, 1);
    }

    #[test]
    fn the_variables_of_a_template_are_listed_without_rendering_it() -> Result<(), RenderError> {
        let names = variables("{% for i in range(cpus) %}{{ i }} {{ port }}{% endfor %}")?;
        assert!(names.contains("cpus") && names.contains("port") && !names.contains("i"), "{names:?}");
        Ok(())
    }
}
