//! One line of HAProxy's log, in the format `%s %ST %ts %Tw %Tc %Tr %Ta %rc`, or with `%b/%s` for its first field; in mode `tcp` as
//! `option tcplog` has it. Anything may come before it, such as a header of syslog. Anybody on this machine can send lines: a line that is no such line is no error, and is counted.

/// What a configuration needs, to log what this reads.
pub const FORMAT: &str = "%b/%s %ST %ts %Tw %Tc %Tr %Ta %rc";

/// The longest line that is looked at.
pub const MOST_LINE_BYTES: usize = 4096;

/// A longer response time is none: HAProxy's timeouts are shorter.
const LONGEST_MS: i64 = 24 * 3600 * 1000;

/// A request, or in mode `tcp` a session, as HAProxy has logged it.
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
    /// From the first byte of the request to the last byte of the answer, in ms; in mode `tcp` the length of the session. None if the server
    /// gave no answer.
    pub response_ms: Option<u32>,
    /// Whether a session has ended in order and without a byte from the server, which no counter of HAProxy has. Never in mode `http`.
    pub is_silent: bool,
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
    request(line).or_else(|| session(line))
}

/// A line of mode `http`.
fn request(line: &str) -> Option<LogLine<'_>> {
    let words: Vec<&str> = line.trim_end().rsplit(' ').take(8).collect();
    let [retries, total, response, connect, queue, termination, status, name] = words[..] else {
        return None;
    };
    let (total, response, connect, queue) = (time(total)?, time(response)?, time(connect)?, time(queue)?);
    let termination = termination_of(termination)?;
    let status: i32 = status.parse().ok()?;
    if !(-1..=999).contains(&status) || connect < -1 || queue < -1 {
        return None;
    }
    let (backend, server) = match name.split_once('/') {
        Some((backend, server)) => (Some(backend), server),
        None => (None, name),
    };
    if server.is_empty() {
        return None;
    }
    let (retries, is_redispatched) = retries_of(retries)?;
    let has_answered = response >= 0 && total >= 0;
    Some(LogLine {
        backend,
        server,
        status: u16::try_from(status).ok(),
        termination,
        response_ms: if has_answered { u32::try_from(total).ok() } else { None },
        is_silent: false,
        retries,
        is_redispatched,
    })
}

/// A line of `option tcplog`: `… %b/%s %Tw/%Tc/%Tt %B %ts %ac/%fc/%bc/%sc/%rc %sq/%bq`.
fn session(line: &str) -> Option<LogLine<'_>> {
    let words: Vec<&str> = line.trim_end().rsplit(' ').take(6).collect();
    let [queues, connections, termination, bytes, times, name] = words[..] else { return None };
    let times: Vec<i64> = times.split('/').map_while(time).collect();
    let [_, connect, total] = times[..] else { return None };
    let bytes: u64 = bytes.strip_prefix('+').unwrap_or(bytes).parse().ok()?;
    let termination = termination_of(termination)?;
    let connections: Vec<&str> = connections.split('/').collect();
    let [_, _, _, _, retries] = connections[..] else { return None };
    let (retries, is_redispatched) = retries_of(retries)?;
    let (backend, server) = name.split_once('/')?;
    if server.is_empty() || queues.split('/').count() != 2 {
        return None;
    }
    let has_answered = connect >= 0 && total >= 0 && bytes > 0;
    Some(LogLine {
        backend: Some(backend),
        server,
        status: None,
        termination,
        response_ms: if has_answered { u32::try_from(total).ok() } else { None },
        is_silent: connect >= 0 && bytes == 0 && termination == *b"--",
        retries,
        is_redispatched,
    })
}

fn termination_of(word: &str) -> Option<[u8; 2]> {
    let termination = <[u8; 2]>::try_from(word.as_bytes()).ok()?;
    let is_termination = termination.iter().all(|c| c.is_ascii_alphabetic() || *c == b'-');
    is_termination.then_some(termination)
}

/// How often a connection was tried again, and whether the last try was at another server: `+2`.
fn retries_of(word: &str) -> Option<(u32, bool)> {
    match word.strip_prefix('+') {
        Some(count) => Some((count.parse().ok()?, true)),
        None => Some((word.parse().ok()?, false)),
    }
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

    fn of_session(rest: &str) -> String {
        format!("<134>Nov 30 19:00:00 haproxy[77]: 127.0.0.1:40112 [30/Nov/2026:19:00:00.123] mail {rest}\n")
    }

    #[test]
    fn sessions_of_tcp_are_read_as_tcplog_has_them() {
        let usual = of_session("b/old1 1/0/340 512 -- 3/3/2/1/0 0/0");
        let usual = parse(&usual).unwrap();
        assert_eq!((usual.backend, usual.server, usual.response_ms), (Some("b"), "old1", Some(340)));
        assert_eq!((usual.is_silent, usual.retries, usual.is_redispatched), (false, 0, false));
        let refused = of_session("b/cand 1/-1/3005 0 SC 3/3/2/1/+2 0/0");
        let refused = parse(&refused).unwrap();
        assert_eq!((refused.response_ms, refused.retries, refused.is_redispatched), (None, 2, true));
        let silent = of_session("b/cand 1/0/5 0 -- 3/3/2/1/0 0/0");
        assert!(parse(&silent).unwrap().is_silent);
        for wrong in [
            "b/ 1/0/340 512 -- 3/3/2/1/0 0/0",
            "b/a 1/0/340/5 512 -- 3/3/2/1/0 0/0",
            "b/a 1/0/x 512 -- 3/3/2/1/0 0/0",
            "b/a 1/0/340 512 -- 3/3/2/1 0/0",
            "b/a 1/0/340 512 -- 3/3/2/1/0 0/0 x",
        ] {
            assert_eq!(parse(&of_session(wrong)), None, "{wrong}");
        }
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
