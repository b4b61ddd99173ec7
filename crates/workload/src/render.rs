//! Renders templates with minijinja: configuration files, arguments and environment variables. The caller sets the
//! [`TemplateVariables`].
//!
//! An undefined variable is an error. Rendered as an empty text, it could silently select a server's default.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, Error, UndefinedBehavior, Value};

/// The variables of every template beside the server's knobs. `password` is defined only where the server has
/// `password = true`. `user` and `group` are none unless this program runs as root. `https` is none unless the load
/// uses TLS, see [`https`]. `showdown` is the path of this program.
pub const BUILT_IN: &[&str] = &[
    "host", "port", "address", "remote", "dir", "data", "here", "cpus", "user", "group", "password",
    "showdown", "https",
];

/// The variable `https`: `https.certificate` and `https.key` are paths of PEM files, `https.resumption` is true where
/// clients may resume sessions.
pub fn https(certificate: &Path, key: &Path, resumption: bool) -> Value {
    let (certificate, key) = (certificate.to_string_lossy(), key.to_string_lossy());
    minijinja::context! { certificate, key, resumption }
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
        Ok(environment().render_str(template, &self.0)?)
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

/// Settings for plain text: nothing is escaped, a final line feed is kept, and a line that contains only a condition
/// is removed.
fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
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
