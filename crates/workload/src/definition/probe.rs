//! A GET outside of the load, for readiness and statistics: where it goes, and which header fields it has.

use std::collections::BTreeMap;
use std::ops::Range;

use super::templates::TemplateCheck;
use notation::source_text::{FileError, SourceText};

/// A GET as the file has it: all templates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpProbe {
    /// See [`ProbeTarget`]. Where it becomes empty, there is no such GET.
    pub url: String,
    /// Further header fields.
    pub headers: Vec<(String, String)>,
}

/// Where a GET goes: `/path` to the server's own port, `:PORT/path` to another one of its address,
/// `http://HOST:PORT/path` or `https://…` to any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeTarget<'t> {
    /// Whether it uses TLS; as the load does, if it goes to the server's own port.
    pub is_tls: Option<bool>,
    /// Host, if it is not the server's; without brackets.
    pub host: Option<&'t str>,
    /// Port, if it is not the server's.
    pub port: Option<u16>,
    /// Path and query.
    pub path: &'t str,
}

impl<'t> ProbeTarget<'t> {
    /// Parses a rendered text.
    pub fn parse(text: &'t str) -> Option<Self> {
        let (is_tls, default_port, rest) = match (text.strip_prefix("http://"), text.strip_prefix("https://"))
        {
            (Some(rest), _) => (Some(false), Some(80), rest),
            (_, Some(rest)) => (Some(true), Some(443), rest),
            _ => (None, None, text),
        };
        let (authority, path) = rest.split_at(rest.find('/')?);
        let fits = path.bytes().all(|byte| byte.is_ascii_graphic());
        let (host, port) = match authority.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')) {
            Some((host, port)) => (host, Some(port.parse::<u16>().ok().filter(|port| *port > 0)?)),
            None => (authority, default_port),
        };
        let is_plain = host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
        let host =
            host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).or(is_plain.then_some(host))?;
        let target = match (is_tls, host) {
            (None, "") => Self { is_tls: port.map(|_| false), host: None, port, path },
            (Some(_), host) if !host.is_empty() => Self { is_tls, host: Some(host), port, path },
            _ => return None,
        };
        fits.then_some(target)
    }
}

impl HttpProbe {
    /// Checks it as it is written in the file; `what` is its key.
    pub(super) fn check(
        what: &str,
        (url, headers): (String, Option<BTreeMap<String, String>>),
        span: &Range<usize>,
        source: SourceText<'_>,
        templates: &mut TemplateCheck<'_>,
    ) -> Result<Self, FileError> {
        let refuse = |why: String| source.error(span, format!("{what}: {why}"));
        let rendered = templates.word(&url, span)?;
        if !rendered.is_empty() && ProbeTarget::parse(&rendered).is_none() {
            return Err(refuse(format!(
                "{url:?} is not where a GET can go: write /path, :PORT/path or http://HOST:PORT/path, with %20 for a blank"
            )));
        }
        let headers: Vec<(String, String)> = headers.into_iter().flatten().collect();
        for (name, value) in &headers {
            let value = templates.word(value, span)?;
            let header = [(name.as_str(), value.as_str())];
            load::drivers::http::check_headers(&header).map_err(|why| refuse(format!("headers: {why}")))?;
        }
        Ok(Self { url, headers })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_get_goes_to_the_server_or_to_another_port_or_host() {
        let target = |is_tls, host, port, path| Some(ProbeTarget { is_tls, host, port, path });
        for (text, expected) in [
            ("/health?a=b", target(None, None, None, "/health?a=b")),
            (":9090/metrics", target(Some(false), None, Some(9_090), "/metrics")),
            (
                "http://127.0.0.1:9090/metrics",
                target(Some(false), Some("127.0.0.1"), Some(9_090), "/metrics"),
            ),
            ("http://[::1]:9090/m", target(Some(false), Some("::1"), Some(9_090), "/m")),
            ("http://[::1]/m", target(Some(false), Some("::1"), Some(80), "/m")),
            ("https://box.local/m", target(Some(true), Some("box.local"), Some(443), "/m")),
        ] {
            assert_eq!(ProbeTarget::parse(text), expected, "{text}");
        }
        for text in
            ["", "health", "http://h", "http:///m", ":0/m", ":x/m", "/a b", "h:80/m", "ftp://h/m", "::1/m"]
        {
            assert_eq!(ProbeTarget::parse(text), None, "{text}");
        }
    }
}
