//! What only HAProxy's configuration tells, and its admin socket does not: state files, `slowstart`, sessions that stick to a server.
//! This reads words of directives, section by section; it does not check the configuration, which HAProxy does.

use std::collections::HashMap;
use std::fmt;

/// Something that a shift of weight cannot work with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Obstacle {
    /// Weights of the last process are given back after a reload.
    StateFile,
    /// A server's weight grows after it comes back.
    SlowStart,
    /// An agent on the server changes its weight.
    AgentCheck,
    /// A cookie binds a client to a server.
    Cookie,
    /// A stick table binds a client to a server.
    StickTable,
    /// A client's connection stays at its server.
    PrefersLastServer,
    /// A rule chooses the server, whatever its weight.
    UseServer,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::StateFile => "load-server-state-from-file",
            Self::SlowStart => "slowstart",
            Self::AgentCheck => "agent-check",
            Self::Cookie => "cookie",
            Self::StickTable => "stick",
            Self::PrefersLastServer => "option prefer-last-server",
            Self::UseServer => "use-server",
        })
    }
}

/// An obstacle and the line where it is, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// What is there.
    pub obstacle: Obstacle,
    /// Its line.
    pub line: usize,
}

/// What is in effect in a section, or what a `defaults` section gives to those after it.
#[derive(Debug, Clone, Default)]
struct Settings {
    /// The obstacles, with their lines.
    obstacles: Vec<Found>,
    /// Whether there is `option redispatch`.
    redispatches: bool,
}

/// The obstacles in a configuration for one backend, from its own section and the `defaults` that it has.
pub fn obstacles(text: &str, backend: &str) -> Vec<Found> {
    settings(text, backend).unwrap_or_default().obstacles
}

/// Whether a request that a server of this backend refuses goes to another one. None if the configuration has no such backend.
pub fn redispatches(text: &str, backend: &str) -> Option<bool> {
    settings(text, backend).map(|settings| settings.redispatches)
}

/// What is in effect for a backend. None if it is not there.
fn settings(text: &str, backend: &str) -> Option<Settings> {
    let mut named: HashMap<String, Settings> = HashMap::new();
    let mut defaults = Settings::default();
    let mut section = Section::Other;
    let mut found = None;
    for (at, line) in text.lines().enumerate() {
        let words = words(line);
        let Some((first, rest)) = words.split_first() else { continue };
        match first.as_str() {
            "defaults" => {
                defaults = from(rest).and_then(|name| named.get(name).cloned()).unwrap_or_default();
                let name = rest.first().filter(|name| *name != "from").cloned();
                section = Section::Defaults(name);
            }
            "backend" | "listen" if rest.first().is_some_and(|name| name == backend) => {
                let inherited = from(rest).and_then(|name| named.get(name).cloned());
                found = Some(inherited.unwrap_or_else(|| defaults.clone()));
                section = Section::Wanted;
            }
            first if SECTIONS.contains(&first) => section = Section::Other,
            first => {
                let effects = effects(first, rest);
                match &section {
                    Section::Wanted => apply(&effects, at + 1, found.get_or_insert_default()),
                    Section::Defaults(name) => {
                        apply(&effects, at + 1, &mut defaults);
                        if let Some(name) = name {
                            named.insert(name.clone(), defaults.clone());
                        }
                    }
                    Section::Other => {}
                }
            }
        }
    }
    found
}

/// The keywords that begin a section of a kind that is not looked into.
const SECTIONS: &[&str] = &[
    "global",
    "frontend",
    "backend",
    "listen",
    "peers",
    "resolvers",
    "mailers",
    "userlist",
    "program",
    "cache",
    "http-errors",
    "ring",
    "log-forward",
    "fcgi-app",
    "crt-store",
    "traces",
    "acme",
    "log-profile",
];

enum Section {
    Defaults(Option<String>),
    /// The backend that was asked for.
    Wanted,
    Other,
}

/// What a directive does.
enum Effect {
    /// Brings an obstacle, or takes one away.
    Obstacle(Obstacle, bool),
    /// Whether a refused request goes to another server.
    Redispatch(bool),
}

fn from(words: &[String]) -> Option<&str> {
    let at = words.iter().position(|word| word == "from")?;
    words.get(at + 1).map(String::as_str)
}

fn effects(first: &str, rest: &[String]) -> Vec<Effect> {
    match first {
        "load-server-state-from-file" => vec![Effect::Obstacle(Obstacle::StateFile, !has(rest, "none"))],
        "cookie" | "dynamic-cookie-key" => vec![Effect::Obstacle(Obstacle::Cookie, true)],
        "stick" => vec![Effect::Obstacle(Obstacle::StickTable, true)],
        "use-server" => vec![Effect::Obstacle(Obstacle::UseServer, true)],
        "option" | "no" if has(rest, "prefer-last-server") => {
            vec![Effect::Obstacle(Obstacle::PrefersLastServer, first == "option")]
        }
        "option" | "no" if has(rest, "redispatch") => vec![Effect::Redispatch(first == "option")],
        "server" | "default-server" | "server-template" => {
            let obstacles = [("slowstart", Obstacle::SlowStart), ("agent-check", Obstacle::AgentCheck)];
            let there = obstacles.into_iter().filter(|(word, _)| has(rest, word));
            there.map(|(_, obstacle)| Effect::Obstacle(obstacle, true)).collect()
        }
        _ => Vec::new(),
    }
}

fn has(words: &[String], wanted: &str) -> bool {
    words.iter().any(|word| word == wanted)
}

fn apply(effects: &[Effect], line: usize, settings: &mut Settings) {
    for effect in effects {
        match *effect {
            Effect::Redispatch(is_on) => settings.redispatches = is_on,
            Effect::Obstacle(obstacle, is_there) => {
                settings.obstacles.retain(|found| found.obstacle != obstacle);
                if is_there {
                    settings.obstacles.push(Found { obstacle, line });
                }
            }
        }
    }
}

/// The words of a line: quotes group, a backslash takes the next character as it is, `#` begins a comment.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = None::<String>;
    let mut quote = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\\', None | Some('"')) => word.get_or_insert_default().extend(chars.next()),
            (c, Some(open)) if c == open => quote = None,
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            ('#', None) => break,
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
global
    server-state-file /var/lib/haproxy/state
defaults base
    option prefer-last-server
    load-server-state-from-file global
frontend web
    stick-table type ip size 1m
    default_backend b
backend b
    balance roundrobin
    # cookie SRV insert
    server old1 10.0.0.1:80 weight 64 check inter 2s
    log-tag "cookie \" # slowstart"
    no option prefer-last-server
backend sticky from base
    load-server-state-from-file none
    stick on src
    default-server slowstart 10s
    server a 10.0.0.1:80 agent-check cookie a
    cookie SRV insert indirect
defaults
backend clean
    server a 10.0.0.1:80
"#;

    fn names(backend: &str) -> Vec<String> {
        obstacles(TEXT, backend).iter().map(|found| format!("{} {}", found.obstacle, found.line)).collect()
    }

    #[test]
    fn obstacles_of_a_backend_and_of_its_defaults_are_found() {
        assert_eq!(names("b"), ["load-server-state-from-file 6"]);
        assert_eq!(
            names("sticky"),
            ["option prefer-last-server 5", "stick 18", "slowstart 19", "agent-check 20", "cookie 21"]
        );
        assert_eq!(names("clean"), [""; 0]);
        assert_eq!(names("missing"), [""; 0]);
    }

    #[test]
    fn redispatch_is_that_of_the_backend_or_of_its_defaults() {
        let text = "defaults\n option redispatch 3\nbackend a\n balance roundrobin\nbackend b\n no option redispatch\n";
        assert_eq!(redispatches(text, "a"), Some(true));
        assert_eq!(redispatches(text, "b"), Some(false));
        assert_eq!(redispatches(text, "c"), None);
        assert_eq!(redispatches("backend a\n", "a"), Some(false));
    }

    #[test]
    fn words_are_as_haproxy_has_them() {
        assert_eq!(words(r#"a "b c" d\ e 'f"g' h#i j"#), ["a", "b c", "d e", "f\"g", "h"]);
        assert_eq!(words("   # nothing"), [""; 0]);
        assert_eq!(words("\"open"), ["open"]);
    }
}
