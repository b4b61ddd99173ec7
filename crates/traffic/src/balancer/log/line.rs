//! One line of HAProxy's log, in the format `%s %ST %ts %Tw %Tc %Tr %Ta %rc`, or with `%b/%s` for its first field. Anything may come before
//! it, such as a header of syslog. Anybody on this machine can send lines: a line that is no such line is no error, and is counted.

/// What a configuration needs, to log what this reads.
pub const FORMAT: &str = "%b/%s %ST %ts %Tw %Tc %Tr %Ta %rc";

/// The longest line that is looked at.
pub const MOST_LINE_BYTES: usize = 4096;

/// A longer response time is none: HAProxy's timeouts are shorter.
const LONGEST_MS: i64 = 24 * 3600 * 1000;

/// A request, as HAProxy has logged it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogLine<'a> {
    /// None if the format has no backend.
    pub backend: Option<&'a str>,
    /// The server that answered at last. `<NOSRV>` if there was none.
    pub server: &'a str,
    /// The status that the client got. None if there was none.
    pub status: Option<u16>,
    /// Who ended the session, and in which state: `--` for a usual end.
    pub termination: [u8; 2],
    /// From the first byte of the request to the last byte of the answer, in ms. None if the server gave no answer.
    pub response_ms: Option<u32>,
    /// Connections that were tried again.
    pub retries: u32,
    /// Whether the last try was at another server.
    pub is_redispatched: bool,
}

/// Reads a line. None if it is no such line.
pub fn parse(line: &str) -> Option<LogLine<'_>> {
    if line.len() > MOST_LINE_BYTES {
        return None;
    }
    let words: Vec<&str> = line.trim_end().rsplit(' ').take(8).collect();
    let [retries, total, response, connect, queue, termination, status, name] = words[..] else {
        return None;
    };
    let (total, response, connect, queue) = (time(total)?, time(response)?, time(connect)?, time(queue)?);
    let termination = <[u8; 2]>::try_from(termination.as_bytes()).ok()?;
    let status: i32 = status.parse().ok()?;
    let is_termination = termination.iter().all(|c| c.is_ascii_alphabetic() || *c == b'-');
    if !is_termination || !(-1..=999).contains(&status) || connect < -1 || queue < -1 {
        return None;
    }
    let (backend, server) = match name.split_once('/') {
        Some((backend, server)) => (Some(backend), server),
        None => (None, name),
    };
    if server.is_empty() {
        return None;
    }
    let (retries, is_redispatched) = match retries.strip_prefix('+') {
        Some(count) => (count, true),
        None => (retries, false),
    };
    let has_answered = response >= 0 && total >= 0;
    Some(LogLine {
        backend,
        server,
        status: u16::try_from(status).ok(),
        termination,
        response_ms: if has_answered { u32::try_from(total).ok() } else { None },
        retries: retries.parse().ok()?,
        is_redispatched,
    })
}

/// A time in ms; -1 if the session ended before it. A `+` says that the line was written before the session's end.
fn time(word: &str) -> Option<i64> {
    let time: i64 = word.strip_prefix('+').unwrap_or(word).parse().ok()?;
    (-1..=LONGEST_MS).contains(&time).then_some(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_haproxy_are_read_with_any_header() {
        let usual = parse("old1 200 -- 0 1 3 5 0\n").unwrap();
        assert_eq!((usual.backend, usual.server, usual.status), (None, "old1", Some(200)));
        assert_eq!((usual.response_ms, usual.retries, usual.is_redispatched), (Some(5), 0, false));
        let header = parse("<134>Nov 29 23:00:00 haproxy[13251]: b/cand 504 sH 0 0 -1 10000 +2").unwrap();
        assert_eq!((header.backend, header.server, header.status), (Some("b"), "cand", Some(504)));
        assert_eq!((header.response_ms, header.retries, header.is_redispatched), (None, 2, true));
        assert_eq!(&header.termination, b"sH");
        let aborted = parse("<NOSRV> -1 CR -1 -1 -1 -1 0").unwrap();
        assert_eq!((aborted.server, aborted.status, aborted.response_ms), ("<NOSRV>", None, None));
    }

    #[test]
    fn what_is_no_such_line_is_nothing() {
        for line in [
            "",
            " ",
            "old1 200 -- 0 1 3 5",
            "old1 200 --- 0 1 3 5 0",
            "old1 2000 -- 0 1 3 5 0",
            "old1 200 -- 0 1 3 -5 0",
            "old1 200 -- 0 1 3 99999999999 0",
            "old1 200 -- 0 1 3 99999999999999999999 0",
            "old1 200 é 0 1 3 5 0",
            "/ 200 -- 0 1 3 5 0",
            "old1  200 -- 0 1 3 5  0",
            "127.0.0.1:5000 [29/Nov/2026:23:00:00.000] web b/old1 0/0/0/3/3 200 128 - - ---- 1/1/0/0/0 0/0 \"GET / HTTP/1.1\"",
        ] {
            assert_eq!(parse(line), None, "{line:?}");
        }
        assert_eq!(parse(&format!("{} 200 -- 0 1 3 5 0", "x".repeat(MOST_LINE_BYTES))), None);
    }
}
