//! What HAProxy answers, as data. The texts come from another program: every size is bounded, and no text makes a function here panic
//! (`crates/traffic/tests/answers.rs`, and a fuzz target). Fields are found by their names: their positions change between versions.

use std::collections::HashMap;

use crate::balancer::interface::{ServerCounters, ServerReading};
use crate::observation::ServerState;

/// The most rows of an answer that are read.
pub const MOST_ROWS: usize = 10_000;

/// The longest text of HAProxy that is repeated in a message.
const LONGEST_WORDS: usize = 200;

/// Why an answer cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// The answer is another one: an error in words, or of another program.
    #[error("it begins with {0:?}")]
    Other(String),
    /// A field is missing.
    #[error("it has no field {0}")]
    NoField(&'static str),
    /// A field has no number.
    #[error("its field {field} is {text:?}")]
    NoNumber {
        /// The field.
        field: &'static str,
        /// Its text.
        text: String,
    },
    /// It has too many rows.
    #[error("it has more than {MOST_ROWS} rows")]
    TooLong,
}

/// The answer to a command that changes something: an empty line is success, anything else is an error in words.
pub fn done(answer: &str) -> Result<(), String> {
    if answer.trim().is_empty() { Ok(()) } else { Err(in_one_line(answer)) }
}

/// A text of HAProxy in one line, shortened, without control characters.
pub fn in_one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let mut line = String::new();
    for word in words {
        if line.len() + word.len() > LONGEST_WORDS {
            line.push('…');
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// The answer to `show info`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Info {
    /// `HAProxy`.
    pub name: String,
    /// `2.6.12-1+deb12u4`.
    pub version: String,
    /// The process that answers.
    pub pid: u32,
    /// Processes that the configuration starts. Always 1 since HAProxy 2.5.
    pub processes: u32,
    /// Its start, in seconds since 1970, by the clock of that moment: a clock that is set later does not change it.
    pub started_s: u64,
    /// Whether the process only finishes what it has begun.
    pub is_stopping: bool,
    /// Lines of the log that it could not send.
    pub dropped_log_lines: u64,
}

/// Reads the answer to `show info`.
pub fn info(answer: &str) -> Result<Info, AnswerError> {
    let mut fields = HashMap::new();
    for line in answer.lines().take(MOST_ROWS) {
        if let Some((name, value)) = line.split_once(':') {
            fields.entry(name.trim()).or_insert(value.trim());
        }
    }
    let Ok(name) = field(&fields, "Name") else { return Err(AnswerError::Other(in_one_line(answer))) };
    let processes = match field(&fields, "Nbproc") {
        Ok(count) => number(count, "Nbproc")?,
        Err(_) => 1,
    };
    Ok(Info {
        name: in_one_line(name),
        version: in_one_line(field(&fields, "Version")?),
        pid: number(field(&fields, "Pid")?, "Pid")?,
        processes,
        started_s: number(field(&fields, "Start_time_sec")?, "Start_time_sec")?,
        is_stopping: field(&fields, "Stopping")? != "0",
        dropped_log_lines: number(field(&fields, "DroppedLogs")?, "DroppedLogs")?,
    })
}

fn field<'a>(fields: &HashMap<&str, &'a str>, name: &'static str) -> Result<&'a str, AnswerError> {
    fields.get(name).copied().ok_or(AnswerError::NoField(name))
}

/// What `show stat` says of a backend.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BackendStatistics {
    /// `http` or `tcp`. Empty if HAProxy does not say it.
    pub mode: String,
    /// `roundrobin`. HAProxy says `unknown` of `random`, and nothing to a socket without the level operator.
    pub algorithm: String,
    /// The cookie that binds a client to a server. Empty for none.
    pub cookie: String,
    /// Its servers, in HAProxy's order.
    pub servers: Vec<ServerStatistics>,
}

/// What `show stat` says of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerStatistics {
    /// Its counters.
    pub counters: ServerCounters,
    /// Its value of the backend's cookie. Empty for none.
    pub cookie: String,
    /// Whether its weight grows after a start (`slowstart`). Only seen while it does.
    pub is_throttled: bool,
}

/// Reads what `show stat` says of one backend. None if there is no backend of this name.
pub fn statistics(answer: &str, backend: &str) -> Result<Option<BackendStatistics>, AnswerError> {
    let Some(csv) = answer.trim_start().strip_prefix("# ") else {
        return Err(AnswerError::Other(in_one_line(answer)));
    };
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(csv.as_bytes());
    let mut columns = HashMap::new();
    if let Ok(header) = reader.headers() {
        for (at, name) in header.iter().enumerate() {
            columns.entry(name.to_owned()).or_insert(at);
        }
    }
    let mut found = None;
    for (count, record) in reader.records().enumerate() {
        if count == MOST_ROWS {
            return Err(AnswerError::TooLong);
        }
        // The answer is UTF-8 by now, and rows may have any length: no row is an error.
        let Ok(record) = record else { continue };
        let row = Row { columns: &columns, record: &record };
        if row.text("pxname")? != backend {
            continue;
        }
        let name = row.text("svname")?;
        let of_backend = found.get_or_insert_with(BackendStatistics::default);
        match name {
            "FRONTEND" => {}
            "BACKEND" => {
                of_backend.mode = in_one_line(row.optional("mode"));
                of_backend.algorithm = in_one_line(row.optional("algo"));
                of_backend.cookie = in_one_line(row.optional("cookie"));
            }
            name => of_backend.servers.push(row.server(name)?),
        }
    }
    Ok(found)
}

/// A row of the CSV.
struct Row<'a> {
    columns: &'a HashMap<String, usize>,
    record: &'a csv::StringRecord,
}

impl<'a> Row<'a> {
    fn text(&self, name: &'static str) -> Result<&'a str, AnswerError> {
        let at = self.columns.get(name).ok_or(AnswerError::NoField(name))?;
        Ok(self.record.get(*at).unwrap_or_default())
    }

    /// Of a field that not every version has.
    fn optional(&self, name: &'static str) -> &'a str {
        self.text(name).unwrap_or_default()
    }

    /// An empty field is 0: HAProxy leaves out what does not apply, such as statuses in TCP mode.
    fn count(&self, name: &'static str) -> Result<u64, AnswerError> {
        match self.text(name)? {
            "" => Ok(0),
            text => number(text, name),
        }
    }

    /// What is left of all requests without those that another counter has. A request that two of them have makes it smaller.
    fn unanswered(&self) -> Result<u64, AnswerError> {
        if self.optional("hrsp_2xx").is_empty() {
            return Ok(0);
        }
        let mut left = self.count("stot")?;
        for counter in [
            "scur",
            "hrsp_2xx",
            "hrsp_3xx",
            "hrsp_4xx",
            "hrsp_5xx",
            "hrsp_other",
            "cli_abrt",
            "econ",
            "eresp",
            "wredis",
        ] {
            left = left.saturating_sub(self.count(counter)?);
        }
        Ok(left)
    }

    fn server(&self, name: &str) -> Result<ServerStatistics, AnswerError> {
        Ok(ServerStatistics {
            counters: ServerCounters {
                name: name.to_owned(),
                requests: self.count("stot")?,
                in_progress: self.count("scur")?,
                queued: self.count("qcur")?,
                connection_errors: self.count("econ")?,
                response_errors: self.count("eresp")?,
                retries: self.count("wretr")?,
                redispatches: self.count("wredis")?,
                status_5xx: self.count("hrsp_5xx")?,
                unanswered: self.unanswered()?,
                check: in_one_line(self.optional("check_status")),
                is_backup: self.optional("bck") == "1",
            },
            cookie: in_one_line(self.optional("cookie")),
            is_throttled: !self.optional("throttle").is_empty(),
        })
    }
}

/// Bits of `srv_admin_state`: maintenance by a person, by the tracked server, by the configuration, by the name service, and of a server
/// whose host has changed.
const MAINTENANCE: u32 = 0x01 | 0x02 | 0x04 | 0x20 | 0x40;
/// Bits of `srv_admin_state`: drained by a person, or by the tracked server.
const DRAIN: u32 = 0x08 | 0x10;
/// Bit of `srv_agent_state`: the agent check is configured.
const CONFIGURED: u32 = 0x02;

/// Reads the answer to `show servers state`: the servers of one backend.
pub fn servers(answer: &str, backend: &str) -> Result<Vec<ServerReading>, AnswerError> {
    let mut lines = answer.lines().map(str::trim).filter(|line| !line.is_empty());
    if lines.next() != Some("1") {
        return Err(AnswerError::Other(in_one_line(answer)));
    }
    let header = lines.next().and_then(|line| line.strip_prefix("# "));
    let header = header.ok_or_else(|| AnswerError::Other(in_one_line(answer)))?;
    let mut columns = HashMap::new();
    for (at, name) in header.split_whitespace().enumerate() {
        columns.entry(name).or_insert(at);
    }
    let mut servers = Vec::new();
    for line in lines {
        let values: Vec<&str> = line.split_whitespace().collect();
        let row = StateRow { columns: &columns, values: &values };
        if row.text("be_name")? != backend {
            continue;
        }
        if servers.len() == MOST_ROWS {
            return Err(AnswerError::TooLong);
        }
        let administration = row.number("srv_admin_state")?;
        servers.push(ServerReading {
            name: row.text("srv_name")?.to_owned(),
            address: with_port(row.text("srv_addr")?, row.text("srv_port")?),
            weight: row.number("srv_uweight")?,
            initial_weight: row.number("srv_iweight")?,
            state: state(row.number("srv_op_state")?, administration),
            administration,
            has_agent: row.number("srv_agent_state")? & CONFIGURED != 0,
        });
    }
    Ok(servers)
}

/// A row of `show servers state`.
struct StateRow<'a> {
    columns: &'a HashMap<&'a str, usize>,
    values: &'a [&'a str],
}

impl<'a> StateRow<'a> {
    fn text(&self, name: &'static str) -> Result<&'a str, AnswerError> {
        let at = self.columns.get(name).ok_or(AnswerError::NoField(name))?;
        self.values.get(*at).copied().ok_or(AnswerError::NoField(name))
    }

    fn number(&self, name: &'static str) -> Result<u32, AnswerError> {
        number(self.text(name)?, name)
    }
}

fn with_port(address: &str, port: &str) -> String {
    if address.contains(':') { format!("[{address}]:{port}") } else { format!("{address}:{port}") }
}

/// Operation is 0 for stopped, 1 for starting, 2 for running and 3 for stopping.
fn state(operation: u32, administration: u32) -> ServerState {
    if administration & MAINTENANCE != 0 {
        ServerState::Maintenance
    } else if operation == 0 {
        ServerState::Down
    } else if administration & DRAIN != 0 || operation == 3 {
        ServerState::Draining
    } else {
        ServerState::Up
    }
}

/// Reads the answer to `get weight`: `5 (initial 0)`.
pub fn weight(answer: &str) -> Result<u32, AnswerError> {
    let text = answer.trim();
    match text.split_once(" (initial ") {
        Some((weight, _)) => number(weight, "weight"),
        None => Err(AnswerError::Other(in_one_line(text))),
    }
}

fn number<T: std::str::FromStr>(text: &str, field: &'static str) -> Result<T, AnswerError> {
    text.parse().map_err(|_| AnswerError::NoNumber { field, text: in_one_line(text) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded from HAProxy 2.6.12, shortened.
    const INFO: &str = "Name: HAProxy\nVersion: 2.6.12-1+deb12u4\nNbthread: 2\nNbproc: 1\nPid: 13251\n\
                        Uptime: 0d 0h00m01s\nUptime_sec: 1\nStopping: 0\nDroppedLogs: 3\nStart_time_sec: 1795993179\n\n";
    const STAT: &str = "# pxname,svname,qcur,scur,stot,econ,eresp,wretr,wredis,status,weight,bck,throttle,check_status,hrsp_5xx,cookie,mode,algo,\n\
                        web,FRONTEND,,0,0,,,,,OPEN,,,,,0,,http,,\n\
                        b,old1,1,2,30,4,5,6,7,no check,64,0,,,8,,http,,\n\
                        b,\"a \"\"b\"\", c\",0,0,0,0,0,0,0,DOWN 1/2,64,1,50,L4CON,,q,http,,\n\
                        b,BACKEND,0,0,0,0,0,0,0,UP,128,0,,,0,SRV,http,roundrobin,\n\
                        other,BACKEND,0,0,0,0,0,0,0,UP,128,0,,,0,,http,leastconn,\n\n";
    const STATE: &str = "1\n# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_iweight srv_time_since_last_change srv_check_status srv_check_result srv_check_health srv_check_state srv_agent_state bk_f_forced_id srv_f_forced_id srv_fqdn srv_port srvrecord srv_use_ssl srv_check_port srv_check_addr srv_agent_addr srv_agent_port\n\
                         3 b 1 old1 127.0.0.1 2 0 64 60 69 1 0 2 0 0 0 0 - 29081 - 0 0 - - 0\n\
                         3 b 3 cand ::1 0 1 0 0 1 1 0 0 2 22 0 0 - 29083 - 0 29099 127.77.1.2 - 0\n\
                         4 lc 1 x 127.0.0.1 0 0 1 1 2 8 2 0 6 22 0 0 - 29081 - 0 0 - - 9999\n\n";

    #[test]
    fn recorded_answers_are_read() {
        let info = info(INFO).unwrap();
        assert_eq!((info.pid, info.started_s, info.dropped_log_lines), (13_251, 1_795_993_179, 3));
        assert_eq!((info.processes, info.is_stopping), (1, false));
        let backend = statistics(STAT, "b").unwrap().unwrap();
        assert_eq!(
            (backend.algorithm.as_str(), backend.cookie.as_str(), backend.mode.as_str()),
            ("roundrobin", "SRV", "http")
        );
        let [old, quoted] = backend.servers.as_slice() else { panic!("{backend:?}") };
        let counters = &old.counters;
        assert_eq!((counters.queued, counters.in_progress, counters.requests), (1, 2, 30));
        assert_eq!((counters.connection_errors, counters.response_errors), (4, 5));
        assert_eq!((counters.retries, counters.redispatches, counters.status_5xx), (6, 7, 8));
        assert_eq!((quoted.counters.name.as_str(), quoted.is_throttled), ("a \"b\", c", true));
        assert_eq!(statistics(STAT, "nothing"), Ok(None));
        assert_eq!(counters.unanswered, 0, "without the statuses nothing is known");
        let servers = servers(STATE, "b").unwrap();
        assert_eq!(
            (servers[0].weight, servers[0].initial_weight, servers[0].state),
            (64, 60, ServerState::Up)
        );
        assert_eq!(
            (servers[1].address.as_str(), servers[1].state),
            ("[::1]:29083", ServerState::Maintenance)
        );
        assert_eq!((servers[0].has_agent, servers[1].has_agent, servers.len()), (false, true, 2));
        assert_eq!(weight("5 (initial 0)\n\n"), Ok(5));
    }

    #[test]
    fn requests_that_end_without_an_answer_are_what_no_counter_has() {
        // Recorded from HAProxy 2.6.12 before a server that closes every 20th connection instead of answering, shortened. Users had 25 failures.
        let text = "# pxname,svname,qcur,scur,stot,econ,eresp,wretr,wredis,status,bck,hrsp_2xx,hrsp_3xx,hrsp_4xx,hrsp_5xx,hrsp_other,cli_abrt,\n\
                    b,old,0,0,502,0,0,0,0,UP,0,502,0,0,0,0,0,\nb,cand,0,0,502,0,0,0,0,UP,0,477,0,0,0,0,0,\n\n";
        let backend = statistics(text, "b").unwrap().unwrap();
        let unanswered: Vec<u64> = backend.servers.iter().map(|server| server.counters.unanswered).collect();
        assert_eq!(unanswered, [0, 25]);
    }

    #[test]
    fn only_an_empty_line_is_success() {
        assert_eq!(done("\n"), Ok(()));
        assert_eq!(done("No such server.\n\n"), Err("No such server.".to_owned()));
        let help = format!("Unknown command\n{}", "  show fd [num]\n".repeat(100));
        let refused = done(&help).unwrap_err();
        assert!(refused.len() < 220 && refused.ends_with('…') && !refused.contains('\n'), "{refused}");
    }

    #[test]
    fn answers_of_another_kind_are_named() {
        assert_eq!(
            info("HTTP/1.1 400 Bad Request\r\n\r\n"),
            Err(AnswerError::Other("HTTP/1.1 400 Bad Request".into()))
        );
        assert_eq!(
            servers("Can't find backend.\n", "b"),
            Err(AnswerError::Other("Can't find backend.".into()))
        );
        assert_eq!(weight("No such server.\n"), Err(AnswerError::Other("No such server.".into())));
        assert_eq!(statistics("# pxname,svname\nb,x\n", "b"), Err(AnswerError::NoField("stot")));
        let wrong = STAT.replace(",30,", ",-3,");
        let error = statistics(&wrong, "b").unwrap_err();
        assert_eq!(error, AnswerError::NoNumber { field: "stot", text: "-3".into() });
    }

    #[test]
    fn states_follow_operation_and_administration() {
        for (operation, administration, expected) in [
            (2, 0, ServerState::Up),
            (1, 0, ServerState::Up),
            (0, 0, ServerState::Down),
            (2, 0x08, ServerState::Draining),
            (3, 0, ServerState::Draining),
            (2, 0x01, ServerState::Maintenance),
            (0, 0x20, ServerState::Maintenance),
        ] {
            assert_eq!(state(operation, administration), expected, "{operation} {administration}");
        }
    }
}
