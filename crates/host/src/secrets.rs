//! Masks secrets in command lines, logs, configurations and messages before they are recorded or printed.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex_lite::{Captures, Regex};

/// Replaces a secret.
const MASK: &str = "***";

/// Stands in messages of this program for a secret that the user is to write there.
const PLACEHOLDER: &str = "\"…\"";

/// Parts of names of secrets, in lower case.
const NAMES: &[&str] =
    &["pass", "secret", "token", "apikey", "api-key", "api_key", "credential", "masterauth"];

/// The headers of HTTP whose values are secrets.
const HEADERS: &str = "(?:proxy-authorization|authorization|set-cookie|cookie|x-api-key)";

/// A text between quotes, or the rest of the line.
const VALUE: &str = r#"("(?:[^"\\\r\n]|\\.)*"|'[^'\r\n]*'|[^\r\n]+)"#;

/// The patterns of [`mask_text`]: what stays comes first, then the secret.
struct Patterns {
    /// `"Authorization: x"`: a header as an argument or a text.
    quoted: [Regex; 2],
    /// `Authorization: x`, and with other quotes `"Authorization": ["x"]`, `Authorization = 'x'`.
    assigned: Regex,
    /// `proxy_set_header Authorization "x";`
    directive: Regex,
    /// `scheme://user:x@host`
    address: Regex,
}

static PATTERNS: LazyLock<Patterns> = LazyLock::new(|| {
    let regex = |text: String| Regex::new(&text).expect("a valid pattern");
    let quoted = |quote: char| regex(format!(r"(?i)({quote}{HEADERS}\s*:\s*)([^{quote}\r\n]+)"));
    Patterns {
        quoted: [quoted('"'), quoted('\'')],
        assigned: regex(format!(r#"(?i)(\b{HEADERS}["']?[ \t]*[:=][ \t]*\[?[ \t]*){VALUE}"#)),
        directive: regex(format!(r#"(?i)(header[^\r\n]*?\s["']?{HEADERS}["']?[ \t]+){VALUE}"#)),
        address: regex(r#"(?i)(\b[a-z][a-z0-9+.-]*://[^\s/?#@"'<>:]*:)([^\s/?#@"'<>]+)@"#.to_owned()),
    }
});

/// Returns a text with secrets masked: the values of `Authorization`, `Proxy-Authorization`, `Cookie`, `Set-Cookie` and
/// `X-Api-Key` wherever they look like a header, and passwords in addresses (`user:x@host`).
///
/// This covers the usual ways to write secrets, not deliberate attempts to circumvent it.
pub fn mask_text(text: &str) -> String {
    let Patterns { quoted, assigned, directive, address } = &*PATTERNS;
    let mut masked = Cow::Borrowed(text);
    for pattern in quoted.iter().chain([assigned, directive]) {
        if let Cow::Owned(changed) = pattern.replace_all(&masked, mask_value) {
            masked = Cow::Owned(changed);
        }
    }
    address.replace_all(&masked, format!("${{1}}{MASK}@")).into_owned()
}

/// Keeps what is before a value, and its quotes.
fn mask_value(found: &Captures<'_>) -> String {
    let (before, value) = (&found[1], &found[2]);
    match value.chars().next() {
        // It is masked already; what comes after it is not part of it.
        _ if value.starts_with(MASK) => found[0].to_owned(),
        // A remedy says where the user's secret goes.
        _ if value == PLACEHOLDER => found[0].to_owned(),
        // The pattern of a directive meets an assignment, whose value another pattern has seen.
        Some('=' | ':') => found[0].to_owned(),
        Some(quote @ ('"' | '\'')) if value.len() > 1 && value.ends_with(quote) => {
            format!("{before}{quote}{MASK}{quote}")
        }
        _ => format!("{before}{MASK}"),
    }
}

/// Returns the arguments with secrets masked: `--password=x`, `--token x`, `requirepass x`, and what [`mask_text`] masks.
///
/// This covers the usual ways to pass secrets, not deliberate attempts to circumvent it.
pub fn mask<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut is_secret = false;
    let mut masked = Vec::new();
    for argument in arguments {
        let (name, value) = argument.split_once('=').map_or((argument, None), |(n, v)| (n, Some(v)));
        masked.push(match value {
            _ if is_secret => MASK.to_owned(),
            Some(_) if names_a_secret(name) => format!("{name}={MASK}"),
            _ => mask_text(&mask_address(argument)),
        });
        is_secret = !is_secret && value.is_none() && names_a_secret(name);
    }
    masked
}

/// Whether a flag or key names a secret. A sentence or path that contains "pass" does not.
fn names_a_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    name.len() < 40 && !name.contains([' ', '/']) && NAMES.iter().any(|secret| name.contains(secret))
}

/// `scheme://user:password@host` without the password.
fn mask_address(argument: &str) -> String {
    let masked = || {
        let (scheme, rest) = argument.split_once("://")?;
        let (user_info, host) = rest.split_once('@')?;
        let (user, _) = user_info.split_once(':')?;
        Some(format!("{scheme}://{user}:{MASK}@{host}"))
    };
    masked().unwrap_or_else(|| argument.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_secrets_are_masked() {
        let masked = |line: &str| mask(line.split(' ')).join(" ");
        assert_eq!(
            masked("redis-server --requirepass hunter2 --port 1"),
            "redis-server --requirepass *** --port 1"
        );
        assert_eq!(masked("api --db-password=a=b -v"), "api --db-password=*** -v");
        assert_eq!(masked("api redis://me:pw@h:1/0 https://h/a@b"), "api redis://me:***@h:1/0 https://h/a@b");
        assert_eq!(masked("quiet ACCESS_TOKEN=x ro"), "quiet ACCESS_TOKEN=*** ro");
        assert_eq!(masked("nginx -c /etc/passwd.conf /x"), "nginx -c /etc/passwd.conf /x");
        assert_eq!(masked("nginx: master process"), "nginx: master process");
    }

    #[test]
    fn headers_and_passwords_in_addresses_are_masked_in_any_text() {
        for (text, masked) in [
            ("Authorization: Bearer x.y", "Authorization: ***"),
            ("> cookie: a=\"x\"; b=y\nHost: h", "> cookie: ***\nHost: h"),
            (
                "curl -H \"X-Api-Key: x\" -d 'Cookie: y' http://h/",
                "curl -H \"X-Api-Key: ***\" -d 'Cookie: ***' http://h/",
            ),
            (
                r#"{"Authorization": ["Basic x"], "Cookie":"a=\"x\"", "Host": ["h"]}"#,
                r#"{"Authorization": ["***"], "Cookie":"***", "Host": ["h"]}"#,
            ),
            ("Proxy-Authorization = 'Basic x' # note", "Proxy-Authorization = '***' # note"),
            ("proxy_set_header Authorization \"Basic x\";", "proxy_set_header Authorization \"***\";"),
            ("RequestHeader set X-API-Key x", "RequestHeader set X-API-Key ***"),
            ("headers = { Authorization = \"Bearer x\" }", "headers = { Authorization = \"***\" }"),
            ("to http://me:x@h:1/ and redis://:y@h/0", "to http://me:***@h:1/ and redis://:***@h/0"),
        ] {
            assert_eq!(mask_text(text), masked);
            assert_eq!(mask_text(masked), masked, "a second time");
        }
        let remedy = "if it wants a login, give it with headers = { Authorization = \"…\" }";
        for harmless in [
            "401 Authorization Required",
            "LoadModule authz_core_module x",
            "http://h:80/a@b",
            "a: b",
            remedy,
        ] {
            assert_eq!(mask_text(harmless), harmless);
        }
    }
}
