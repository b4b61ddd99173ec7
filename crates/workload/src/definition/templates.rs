//! Checks the templates of a server before any start: every variable is defined, every template renders with the
//! defaults, and every knob is used.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::path::Path;

use load::connecting::UnixSocket;
use load::drivers::RegisteredProtocol;
use toml::Spanned;

use super::knobs::knob::Knob;
use super::source::source_text::{DefinitionError, SourceText};
use crate::folder::Folder;
use crate::names::available;
use crate::render::{self, BUILT_IN, RenderError, TemplateVariables};

/// The port in a check: one that a server may have, as those that follow from it.
const SAMPLE_PORT: u16 = 10_000;

/// What every path is in a check.
const SAMPLE_DIRECTORY: &str = "/x";

/// The template of a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigTemplate {
    /// Its name, in the workload's folder and in the server's directory.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// A check of one server's templates.
pub(super) struct TemplateCheck<'t> {
    source: SourceText<'t>,
    /// The variables of command lines: all but the password.
    public: TemplateVariables,
    /// The variables of configuration files and the environment, which only the server reads.
    secret: TemplateVariables,
    used: BTreeSet<String>,
}

impl<'t> TemplateCheck<'t> {
    /// A check that renders with sample values.
    pub fn new(
        knobs: &[Knob],
        spans: &[Range<usize>],
        has_password: bool,
        is_tls: bool,
        source: SourceText<'t>,
    ) -> Result<Self, DefinitionError> {
        let mut public = TemplateVariables::default();
        for name in BUILT_IN {
            match *name {
                "https" => {
                    let path = Path::new(SAMPLE_DIRECTORY);
                    public.set(name, is_tls.then(|| render::https(path, path, true)));
                }
                "cpus" => public.set(name, 1),
                "cpu_list" => public.set(name, "0"),
                "port" => public.set(name, SAMPLE_PORT),
                "host" => public.set(name, "127.0.0.1"),
                "address" => public.set(name, format!("127.0.0.1:{SAMPLE_PORT}")),
                "user" | "group" => public.set(name, ()),
                "password" => {}
                path => public.set(path, SAMPLE_DIRECTORY),
            }
        }
        let built_in = public.clone();
        for (knob, span) in knobs.iter().zip(spans) {
            let value = knob
                .default_value(&built_in)
                .map_err(|why| source.error(span, format!("knob {:?}: {why}", knob.name)))?;
            public.set(&knob.name, &value);
        }
        let mut secret = public.clone();
        if has_password {
            secret.set("password", "x");
        }
        Ok(Self { source, public, secret, used: BTreeSet::new() })
    }

    /// Checks a command line.
    pub fn argv(&mut self, words: &Spanned<Vec<String>>) -> Result<(), DefinitionError> {
        self.words(words.get_ref(), &words.span())
    }

    /// Checks a command line at a span.
    pub fn words(&mut self, words: &[String], span: &Range<usize>) -> Result<(), DefinitionError> {
        if words.first().is_none_or(String::is_empty) {
            let what = "a command is a list of words with a program first, such as [\"nginx\", \"-v\"]";
            return Err(self.source.error(span, what));
        }
        words.iter().try_for_each(|word| self.word(word, span).map(drop))
    }

    /// Checks one word of a command, and returns it rendered.
    pub fn word(&mut self, word: &str, span: &Range<usize>) -> Result<String, DefinitionError> {
        let (used, rendered) = check(word, &self.public)
            .map_err(|e| self.source.error(span, format!("{word:?}: {}", e.message)))?;
        self.used.extend(used);
        Ok(rendered)
    }

    /// Checks the values of environment variables.
    pub fn environment(&mut self, values: &BTreeMap<String, Spanned<String>>) -> Result<(), DefinitionError> {
        for value in values.values() {
            let word = value.get_ref();
            let (used, _) = check(word, &self.secret)
                .map_err(|e| self.source.error(&value.span(), format!("{word:?}: {}", e.message)))?;
            self.used.extend(used);
        }
        Ok(())
    }

    /// Checks the path of the server's socket, which is below its directory or empty. Returns the template.
    pub fn socket(
        &mut self,
        socket: &Spanned<String>,
        protocol: RegisteredProtocol,
    ) -> Result<String, DefinitionError> {
        let source = self.source;
        let refused = |why: &dyn fmt::Display| source.error(&socket.span(), format!("socket: {why}"));
        if protocol.makes_own_load() {
            return Err(refused(&"a runner makes its own load, see docs/BYOD.md"));
        }
        let rendered = self.word(socket.get_ref(), &socket.span())?;
        if !rendered.is_empty() {
            UnixSocket::of_server(rendered, Path::new(SAMPLE_DIRECTORY)).map_err(|why| refused(&why))?;
        }
        Ok(socket.get_ref().clone())
    }

    /// Reads a configuration file from the workload's folder, and checks it.
    pub fn config_file(
        &mut self,
        name: &Spanned<String>,
        folder: &Folder,
    ) -> Result<ConfigTemplate, DefinitionError> {
        let (name, span) = (name.get_ref(), name.span());
        if name.is_empty() || name.contains('/') || name.starts_with('.') {
            let what = format!(
                "config {name:?}: give the name of a file in the folder of this file, without a path"
            );
            return Err(self.source.error(&span, what));
        }
        let text = folder
            .read(name)
            .map_err(|why| self.source.error(&span, format!("config {:?}: {why}", folder.label(name))))?;
        let (used, _) = check(&text, &self.secret).map_err(|e| {
            SourceText { file: &folder.label(name), text: &text }.error_at_line(e.line, e.message)
        })?;
        self.used.extend(used);
        Ok(ConfigTemplate { name: name.clone(), text })
    }

    /// Whether a template uses this variable.
    pub fn uses(&self, name: &str) -> bool {
        self.used.contains(name)
    }

    /// Checks that every knob is used: setting an unused knob would change nothing.
    pub fn every_knob_is_used(&self, knobs: &[Knob], spans: &[Range<usize>]) -> Result<(), DefinitionError> {
        match knobs.iter().zip(spans).find(|(knob, _)| !self.used.contains(&knob.name)) {
            None => Ok(()),
            Some((knob, span)) => {
                let name = &knob.name;
                let what = format!(
                    "knob {name:?} is not used: use {{{{ {name} }}}} in start, config or environment, or remove it"
                );
                Err(self.source.error(span, what))
            }
        }
    }
}

/// Renders a template with sample values; returns the variables that it uses, and the rendered text.
fn check(template: &str, variables: &TemplateVariables) -> Result<(BTreeSet<String>, String), RenderError> {
    let used: BTreeSet<String> = render::variables(template)?.into_iter().collect();
    let known = variables.names();
    if let Some(unknown) = used.iter().find(|name| !known.contains(&name.as_str())) {
        let line = template.lines().position(|line| line.contains(unknown.as_str())).map_or(1, |at| at + 1);
        let message = if unknown == "password" {
            "use the password only in config and environment of a server with password = true: all users can \
             see the arguments of a command"
                .to_owned()
        } else {
            format!("there is no variable {unknown:?}{}", available(unknown, &known))
        };
        return Err(RenderError { line, message });
    }
    let rendered = variables.render(template)?;
    Ok((used, rendered))
}
