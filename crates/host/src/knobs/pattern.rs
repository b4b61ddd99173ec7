//! Names of settings and patterns of them, as paths.

/// The file of a setting or of a pattern of settings.
pub(super) fn path_of(name: &str) -> String {
    if name.starts_with('/') {
        name.to_owned()
    } else if name.contains('/') {
        // The notation of sysctl(8) for names that contain dots: net/ipv4/conf/eth0.1/rp_filter.
        format!("/proc/sys/{name}")
    } else {
        format!("/proc/sys/{}", name.replace('.', "/"))
    }
}

/// Whether a path matches a pattern in which `*` stands for any text without a slash. Returns what the first `*`
/// stands for; an empty text if there is none.
pub(super) fn matches(pattern: &str, path: &str) -> Option<String> {
    let (patterns, parts): (Vec<_>, Vec<_>) = (pattern.split('/').collect(), path.split('/').collect());
    if patterns.len() != parts.len() {
        return None;
    }
    let mut first = None;
    for (pattern, part) in patterns.into_iter().zip(parts) {
        match pattern.split_once('*') {
            None if pattern == part => {}
            None => return None,
            Some((before, after)) => {
                let star = part.strip_prefix(before)?.strip_suffix(after)?;
                first.get_or_insert(star.to_owned());
            }
        }
    }
    Some(first.unwrap_or_default())
}
