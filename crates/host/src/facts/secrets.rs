//! Masks secrets in command lines before they are recorded.

/// Replaces a secret.
const MASK: &str = "***";

/// Parts of names of secrets, in lower case.
const NAMES: &[&str] =
    &["pass", "secret", "token", "apikey", "api-key", "api_key", "credential", "masterauth"];

/// Returns the arguments with secrets masked: `--password=x`, `--token x`, `requirepass x`, `user:x@host`.
///
/// This covers the usual ways to pass secrets, not deliberate attempts to circumvent it.
pub(super) fn mask<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut is_secret = false;
    let mut masked = Vec::new();
    for argument in arguments {
        let (name, value) = argument.split_once('=').map_or((argument, None), |(n, v)| (n, Some(v)));
        masked.push(match value {
            _ if is_secret => MASK.to_owned(),
            Some(_) if names_a_secret(name) => format!("{name}={MASK}"),
            _ => mask_address(argument),
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
}
