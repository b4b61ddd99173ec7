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
use crate::folder::Folder;
use crate::names::available;
use crate::render::{self, BUILT_IN, COMPANION, RenderError, TemplateVariables, USERS};
use notation::source_text::{FileError, SourceText};

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
    companions: CompanionsInCheck,
}

/// The companions that templates may refer to.
#[derive(Clone, Default)]
struct CompanionsInCheck {
    /// Those that are started before, with their sample values.
    earlier: BTreeMap<String, minijinja::Value>,
    /// All of the server, in the order of the file.
    all: Vec<String>,
    /// The companion whose templates are checked; none for the server.
    own: Option<String>,
}

impl<'t> TemplateCheck<'t> {
    /// A check that renders with sample values.
    pub fn new(
        knobs: &[Knob],
        spans: &[Range<usize>],
        has_password: bool,
        is_tls: bool,
        source: SourceText<'t>,
    ) -> Result<Self, FileError> {
        let mut public = TemplateVariables::default();
        for name in BUILT_IN {
            match *name {
                "https" => {
                    let path = Path::new(SAMPLE_DIRECTORY);
                    public.set(name, is_tls.then(|| render::https(path, path, true)));
                }
                "cpus" | USERS => public.set(name, 1),
                "cpu_list" => public.set(name, "0"),
                "port" => public.set(name, SAMPLE_PORT),
                "host" => public.set(name, "127.0.0.1"),
                "address" => public.set(name, format!("127.0.0.1:{SAMPLE_PORT}")),
                "user" | "group" | COMPANION => public.set(name, ()),
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
        Ok(Self { source, public, secret, used: BTreeSet::new(), companions: CompanionsInCheck::default() })
    }

    /// The companions of the server, in the order of the file. None of them is started yet.
    pub fn set_companions(&mut self, names: Vec<String>) {
        self.companions.all = names;
    }

    /// A check of the templates of the next companion. It has no certificate, and a password only where it asks for one.
    pub fn of_next_companion(&self, has_password: bool) -> Self {
        let mut public = self.public.clone();
        public.set("https", ());
        let mut secret = public.clone();
        if has_password {
            secret.set("password", "x");
        }
        let own = self.companions.all.get(self.companions.earlier.len()).cloned();
        let companions = CompanionsInCheck { own, ..self.companions.clone() };
        Self { source: self.source, public, secret, used: BTreeSet::new(), companions }
    }

    /// The companion of this check is started: templates after it may refer to it, and what it uses is used.
    pub fn companion_is_checked(&mut self, of_companion: Self, has_socket: bool) {
        self.used.extend(of_companion.used);
        let Some(name) = of_companion.companions.own else { return };
        let directory = Path::new(SAMPLE_DIRECTORY);
        let socket = directory.join("socket");
        let socket = has_socket.then_some(socket.as_path());
        let sample = render::companion(([127, 0, 0, 1], SAMPLE_PORT).into(), directory, socket);
        self.companions.earlier.insert(name, sample);
        let earlier = minijinja::Value::from(self.companions.earlier.clone());
        self.public.set(COMPANION, earlier.clone());
        self.secret.set(COMPANION, earlier);
    }

    /// Checks a command line.
    pub fn argv(&mut self, words: &Spanned<Vec<String>>) -> Result<(), FileError> {
        self.words(words.get_ref(), &words.span())
    }

    /// Checks a command line at a span.
    pub fn words(&mut self, words: &[String], span: &Range<usize>) -> Result<(), FileError> {
        if words.first().is_none_or(String::is_empty) {
            let what = "a command is a list of words with a program first, such as [\"nginx\", \"-v\"]";
            return Err(self.source.error(span, what));
        }
        words.iter().try_for_each(|word| self.word(word, span).map(drop))
    }

    /// Checks one word of a command, and returns it rendered.
    pub fn word(&mut self, word: &str, span: &Range<usize>) -> Result<String, FileError> {
        let (used, rendered) = self
            .rendered(word, &self.public)
            .map_err(|e| self.source.error(span, format!("{word:?}: {}", e.message)))?;
        self.used.extend(used);
        Ok(rendered)
    }

    /// Checks the values of environment variables.
    pub fn environment(&mut self, values: &BTreeMap<String, Spanned<String>>) -> Result<(), FileError> {
        for value in values.values() {
            let word = value.get_ref();
            let (used, _) = self
                .rendered(word, &self.secret)
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
    ) -> Result<String, FileError> {
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
    ) -> Result<ConfigTemplate, FileError> {
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
        let (used, _) = self.rendered(&text, &self.secret).map_err(|e| {
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
    pub fn every_knob_is_used(&self, knobs: &[Knob], spans: &[Range<usize>]) -> Result<(), FileError> {
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

impl TemplateCheck<'_> {
    /// Renders a template with sample values; returns the variables that it uses, and the rendered text.
    fn rendered(
        &self,
        template: &str,
        variables: &TemplateVariables,
    ) -> Result<(BTreeSet<String>, String), RenderError> {
        let used: BTreeSet<String> = render::variables(template)?.into_iter().collect();
        let known = variables.names();
        if let Some(unknown) = used.iter().find(|name| !known.contains(&name.as_str())) {
            let message = if unknown == "password" {
                "use the password only in config and environment of a server with password = true: all users can \
                 see the arguments of a command"
                    .to_owned()
            } else {
                format!("there is no variable {unknown:?}{}", available(unknown, &known))
            };
            return Err(RenderError { line: line_of(template, unknown), message });
        }
        for member in render::members(template, COMPANION)? {
            if let Some(message) = self.companions.wrong_reference(&member) {
                return Err(RenderError { line: line_of(template, &member), message });
            }
        }
        let rendered = variables.render(template)?;
        Ok((used, rendered))
    }
}

/// The line of a template with this text, from 1.
fn line_of(template: &str, text: &str) -> usize {
    template.lines().position(|line| line.contains(text)).map_or(1, |at| at + 1)
}

impl CompanionsInCheck {
    /// What is wrong with a reference such as `companion.database.port`.
    fn wrong_reference(&self, reference: &str) -> Option<String> {
        let mut words = reference.split('.').skip(1);
        let name = words.next()?;
        if self.all.is_empty() {
            return Some(format!("there is no companion {name:?}: define it in [[server.NAME.companion]]"));
        }
        let Some(value) = self.earlier.get(name) else {
            return Some(self.not_started(name));
        };
        let key = words.next()?;
        let keys: Vec<String> = value.try_iter().into_iter().flatten().map(|key| key.to_string()).collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        (!keys.contains(&key)).then(|| format!("companion {name:?} has no {key:?}{}", available(key, &keys)))
    }

    /// Why a companion of this name cannot be referred to.
    fn not_started(&self, name: &str) -> String {
        let is_known = self.all.iter().any(|known| known == name);
        match &self.own {
            Some(own) if own == name => {
                format!(
                    "companion {name:?} refers to itself: write {{{{ port }}}}, {{{{ dir }}}} or {{{{ address }}}}"
                )
            }
            Some(own) if is_known => format!(
                "companion {own:?} refers to {name:?}, which is started after it: put {name:?} before it in the file, and let \
                 it not refer to {own:?}"
            ),
            _ => {
                let all: Vec<&str> = self.all.iter().map(String::as_str).collect();
                format!("there is no companion {name:?}{}", available(name, &all))
            }
        }
    }
}
