//! What the texts of keys mean: shares, parts of a path, hosts and ports.

use url::Host;

/// A share such as `1 %`.
pub(super) fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let number = number.filter(|percent| *percent > 0.0 && *percent <= 100.0);
    number.ok_or_else(|| format!("uncertainty: {text:?} is not a share of the reading: write it as \"1 %\""))
}

/// A part of a path.
pub(super) fn one_part(text: &str) -> Result<String, String> {
    let is_part = !text.is_empty()
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.~:".contains(c))
        && text != "..";
    if is_part { Ok(text.to_owned()) } else { Err(format!("chassis: {text:?} is not the Id of a chassis")) }
}

/// `10.0.0.9`, `pdu.example:1161` or `[fe80::1]:161`.
pub(super) fn host_and_port(text: &str, port: u16, example: &str) -> Result<(Host, u16), String> {
    let refused = || {
        format!(
            "address: {text:?} is no host: write it as {example:?}, with a port as {:?}",
            format!("{example}:{port}")
        )
    };
    // The rules of a URL's host: no user, no path, nothing that begins like an option.
    let (host, port) = match text.rsplit_once(':') {
        Some((host, number)) if !host.contains(':') || host.ends_with(']') => {
            (host, number.parse().map_err(|_| refused())?)
        }
        _ => (text, port),
    };
    if host.starts_with('-') || host.contains(['/', '@', '=']) {
        return Err(refused());
    }
    let host = Host::parse(host).map_err(|_| refused())?;
    Ok((host, port))
}

/// As it is shown.
pub(super) fn shown(host: &Host, port: u16) -> String {
    format!("{host}:{port}")
}

/// The host without the brackets of IPv6.
pub(super) fn bare(host: &Host) -> String {
    host.to_string().trim_matches(['[', ']']).to_owned()
}
