//! Templates: configuration files, arguments and environments, rendered by minijinja. What the variables hold
//! is decided by who fills the [`TemplateVariables`].
//!
//! Strict: a variable that does not exist is an error and never an empty text, which a server might take for
//! its default.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, Error, UndefinedBehavior, Value};

/// The variables that every template has beside the server's knobs. `password` exists only where the server
/// asks for one, `user` and `group` are none unless we are root, `https` is none unless the load is over TLS (see
/// [`https`]), and `showdown` is this program.
pub const BUILT_IN: &[&str] =
    &["host", "port", "dir", "data", "here", "cpus", "user", "group", "password", "showdown", "https"];

/// The variable `https`: `https.certificate` and `https.key` are the paths of PEM files, `https.resumption` says whether
/// sessions may be resumed.
pub fn https(certificate: &Path, key: &Path, resumption: bool) -> Value {
    let (certificate, key) = (certificate.to_string_lossy(), key.to_string_lossy());
    minijinja::context! { certificate, key, resumption }
}

/// Why a text cannot be rendered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderError {
    /// The line within the template, from 1.
    pub line: usize,
    /// What is wrong there.
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
    /// Gives a variable its value, another than before if it had one.
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

    /// Renders a list of arguments. One that becomes empty is left out, so that an argument can depend on
    /// a variable: `{% if user %}--user={{ user }}{% endif %}`.
    pub fn render_argv(&self, argv: &[String]) -> Result<Vec<String>, RenderError> {
        let rendered: Result<Vec<String>, RenderError> = argv.iter().map(|word| self.render(word)).collect();
        Ok(rendered?.into_iter().filter(|word| !word.is_empty()).collect())
    }
}

/// The variables that a template takes from its scope.
pub fn variables(template: &str) -> Result<HashSet<String>, RenderError> {
    let environment = environment();
    let functions: HashSet<&str> = environment.globals().map(|(name, _)| name).collect();
    let names = environment.template_from_str(template)?.undeclared_variables(false);
    Ok(names.into_iter().filter(|name| !functions.contains(name.as_str())).collect())
}

/// Plain text: nothing is escaped, it ends as its template ends, and a line that holds nothing but a condition
/// leaves no line behind.
fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    let mut syntax = SyntaxConfig::builder();
    syntax.keep_trailing_newline(true).trim_blocks(true).lstrip_blocks(true);
    environment.set_syntax(syntax.build().expect("the delimiters are the usual ones"));
    environment
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope() -> TemplateVariables {
        let mut scope = TemplateVariables::default();
        scope.set("port", 8080);
        scope.set("user", ());
        scope.set("sendfile", true);
        scope
    }

    #[test]
    fn conditions_leave_no_empty_lines_and_nothing_is_escaped() -> Result<(), RenderError> {
        let template = "listen {{ port }};\n{% if sendfile %}\nsendfile on;\n{% endif %}\nroot \"/a&b\";\n";
        assert_eq!(scope().render(template)?, "listen 8080;\nsendfile on;\nroot \"/a&b\";\n");
        Ok(())
    }

    #[test]
    fn an_argument_that_is_empty_is_left_out() -> Result<(), RenderError> {
        let argv =
            ["memcached", "-p{{ port }}", "{% if user %}--user={{ user }}{% endif %}"].map(str::to_owned);
        assert_eq!(scope().render_argv(&argv)?, ["memcached", "-p8080"]);
        Ok(())
    }

    #[test]
    fn what_is_not_there_is_an_error_with_its_line() {
        let error = scope().render("a\n{{ prot }}").expect_err("no such variable");
        assert_eq!(error.line, 2);
        assert_eq!(scope().render("{% if %}").expect_err("no template").line, 1);
    }

    #[test]
    fn the_variables_of_a_template_are_known_without_rendering_it() -> Result<(), RenderError> {
        let names = variables("{% for i in range(cpus) %}{{ i }} {{ port }}{% endfor %}")?;
        assert!(names.contains("cpus") && names.contains("port") && !names.contains("i"), "{names:?}");
        Ok(())
    }
}
