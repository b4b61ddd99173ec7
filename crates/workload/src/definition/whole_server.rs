//! Checks a whole server as it is written in the file: its knobs, its companions, its own process, and what showdown adds to its knobs.

use std::ops::Range;

use load::drivers::RegisteredProtocol;
use load::drivers::protocol::UrlPath;
use toml::Spanned;

use super::companion;
use super::external::StopMethod;
use super::knobs::allocator;
use super::knobs::binary;
use super::knobs::concurrency::ConcurrencyKnobs;
use super::knobs::knob::Knob;
use super::need::Need;
use super::server::ServerDefinition;
use super::source::raw::RawServer;
use super::templates::TemplateCheck;
use crate::folder::Folder;
use crate::render;
use notation::source_text::{FileError, SourceText};

impl ServerDefinition {
    /// Checks a server as it is written in the file, and reads its templates.
    pub(super) fn check(
        name: &str,
        raw: Spanned<RawServer>,
        protocol: RegisteredProtocol,
        is_tls: bool,
        folder: &Folder,
        source: SourceText<'_>,
    ) -> Result<Self, FileError> {
        let span = raw.span();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || !name.chars().all(is_plain) {
            let what = format!("server {name:?}: write its name in letters, digits, - and _");
            return Err(source.error(&span, what));
        }
        let mut raw = raw.into_inner();
        let protocol = match raw.protocol.take() {
            Some(own) if !own.get_ref().shares_mix_with(protocol) => {
                let what = format!("server {name:?}: the protocol does not have the operations of [load]");
                return Err(source.error(&own.span(), what));
            }
            Some(own) => own.into_inner(),
            None => protocol,
        };
        if protocol.url_path() == UrlPath::Account && raw.account.is_none() {
            let what = format!("server {name:?}: a database needs account = {{ user = …, database = … }}");
            return Err(source.error(&span, what));
        }
        let knob_spans: Vec<Range<usize>> = raw.knobs.values().map(Spanned::span).collect();
        let knobs: Result<Vec<Knob>, FileError> = std::mem::take(&mut raw.knobs)
            .into_iter()
            .map(|(name, knob)| Knob::check(&name, knob, source))
            .collect();
        let knobs = knobs?;

        let mut templates = TemplateCheck::new(&knobs, &knob_spans, raw.password, is_tls, source)?;
        let part = companion::part(raw.part.take(), source)?;
        let companions = std::mem::take(&mut raw.companion);
        let companions = companion::check_all(
            name,
            &part,
            companions,
            (&knobs, folder, raw.password),
            source,
            &mut templates,
        )?;
        let raw_needs = std::mem::take(&mut raw.needs);
        let raw_concurrency = std::mem::take(&mut raw.concurrency);
        let (start, start_span) = (raw.start.get_ref().clone(), raw.start.span());
        let process = Self::check_process(name.to_owned(), raw, protocol, folder, source, &mut templates)?;
        if !process.may_listen_where_it_is_told(&knobs) {
            let what = "start does not use {{ port }}: showdown chooses the port: use it in start, config or environment";
            return Err(source.error(&start_span, what));
        }
        companion::check_observed(&process, &companions).map_err(|what| source.error(&span, what))?;
        templates.every_knob_is_used(&knobs, &knob_spans)?;
        if is_tls && !templates.uses("https") {
            let what =
                "the load uses TLS: use {{ https.certificate }} and {{ https.key }} in config or start";
            return Err(source.error(&span, format!("server {name:?}: {what}")));
        }
        let tls_knobs = is_tls.then(Knob::of_tls);
        let instances_knobs = (!protocol.makes_own_load()).then(Knob::of_instances);
        // A server that has such a knob of its own keeps it.
        let is_new = |knob: &Knob| knobs.iter().all(|own| own.name != knob.name);
        let of_every_server = allocator::knobs().into_iter().chain(binary::knob(&start));
        let of_every_server: Vec<Knob> = of_every_server.filter(is_new).collect();
        let instances_knobs = instances_knobs.into_iter().flatten();
        let added = tls_knobs.into_iter().flatten().chain(instances_knobs).chain(of_every_server);
        let knobs: Vec<Knob> = knobs.into_iter().chain(added).collect();
        let needs: Result<Vec<Need>, FileError> =
            raw_needs.into_iter().map(|raw| Need::check(raw, &knobs, source)).collect();
        let needs = needs?;
        let concurrency = ConcurrencyKnobs::check(raw_concurrency, &knobs, source)?;
        Ok(Self { needs, knobs, concurrency, part, companions, ..process })
    }
    /// Whether its process can know where to listen: a template of it names its port or its socket, or it is said how to find it.
    fn may_listen_where_it_is_told(&self, knobs: &[Knob]) -> bool {
        if self.protocol.makes_own_load() || self.socket.is_some() || self.pid.is_some() {
            return true;
        }
        // Another program starts it, which may have its own way to publish the port.
        if matches!(self.stop, StopMethod::Command(_)) {
            return true;
        }
        let commands = self.prepare.iter().flatten().chain(&self.start);
        let texts = commands.chain(self.environment.values()).map(String::as_str);
        let texts = texts.chain(self.config.iter().map(|file| file.text.as_str()));
        let mut texts = texts.chain(knobs.iter().map(|knob| knob.default.as_str()));
        texts.any(|text| {
            // What does not parse has been refused.
            let used = render::variables(text).unwrap_or_default();
            used.iter().any(|name| name == "port" || name == "address")
        })
    }
}
