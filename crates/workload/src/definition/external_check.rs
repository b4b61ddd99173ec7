//! Checks what a workload says of a server that another program starts.

use std::ops::Range;

use toml::Spanned;

use super::external::{PidSource, StopMethod};
use super::templates::TemplateCheck;
use notation::source_text::{FileError, SourceText};

/// Checks `stop` and `pid` of a server.
pub(super) fn check(
    stop: Option<Spanned<StopMethod>>,
    pid: Option<Spanned<PidSource>>,
    source: SourceText<'_>,
    templates: &mut TemplateCheck<'_>,
) -> Result<(StopMethod, Option<PidSource>), FileError> {
    if let Some((span, StopMethod::Command(words))) = stop.as_ref().map(spanned) {
        templates.words(words, &span)?;
    }
    if let Some((span, named)) = pid.as_ref().map(spanned) {
        match named {
            PidSource::File(path) => drop(templates.word(path, &span)?),
            PidSource::Command(words) => templates.words(words, &span)?,
        }
        if !matches!(stop.as_ref().map(Spanned::get_ref), Some(StopMethod::Command(_))) {
            let what = "pid: a process that another program has started is not signalled: give the command that stops it, \
                        such as stop = [\"docker\", \"stop\", \"NAME\"]";
            return Err(source.error(&span, what));
        }
    }
    Ok((stop.map(Spanned::into_inner).unwrap_or_default(), pid.map(Spanned::into_inner)))
}

fn spanned<T>(value: &Spanned<T>) -> (Range<usize>, &T) {
    (value.span(), value.get_ref())
}
