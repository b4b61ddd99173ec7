//! The tools of `showdown mcp`: what each may be given, and the command line that it becomes. Only what is listed here can be passed
//! on, never an option by itself: consent such as `--target-is-mine` or `--yes` stays with the user at the command line.

use serde_json::{Map, Value, json};

/// A parameter of a tool.
struct Parameter {
    name: &'static str,
    about: &'static str,
    kind: ParameterKind,
}

/// How a parameter becomes words of the command line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ParameterKind {
    /// Words of their own, at the end; at least one.
    Words,
    /// One word of its own, at the end, which may be missing.
    Word,
    /// `--name=VALUE`.
    Text,
    /// `--name`, if it is true.
    Flag,
}

/// A tool: the verb that it runs, and what it may be given.
struct Tool {
    name: &'static str,
    about: &'static str,
    verb: &'static [&'static str],
    parameters: &'static [Parameter],
}

const VARIANTS: Parameter = Parameter {
    name: "variants",
    about: "what to compare: SERVER or SERVER:KNOB=VALUE, such as nginx and nginx:sendfile=off; the tool workloads lists servers and knobs",
    kind: ParameterKind::Words,
};
const RUN: Parameter = Parameter {
    name: "run",
    about: "the run: its id, a part of its id that no other run has, its directory, or `latest`",
    kind: ParameterKind::Word,
};
const COMPARISON: [Parameter; 8] = [
    VARIANTS,
    Parameter {
        name: "quick",
        about: "a closed loop in one to six minutes, instead of the capacity in some more",
        kind: ParameterKind::Flag,
    },
    Parameter {
        name: "workload",
        about: "the workload: a name, or the path of a workload.toml",
        kind: ParameterKind::Text,
    },
    Parameter { name: "measure", about: "throughput, capacity, latency or cpu", kind: ParameterKind::Text },
    Parameter {
        name: "slo",
        about: "the objective of a capacity, such as p99<20ms",
        kind: ParameterKind::Text,
    },
    Parameter { name: "for", about: "about how long it may take, such as 10m", kind: ParameterKind::Text },
    Parameter {
        name: "on-op",
        about: "one operation of the workload instead of its mix",
        kind: ParameterKind::Text,
    },
    Parameter { name: "connections", about: "the connections of the load", kind: ParameterKind::Text },
];

const TOOLS: [Tool; 6] = [
    Tool {
        name: "doctor",
        about: "Check how fit this machine is to measure, and how to improve it",
        verb: &["doctor"],
        parameters: &[],
    },
    Tool {
        name: "workloads",
        about: "List the workloads with their servers, or show one with its knobs",
        verb: &["workloads"],
        parameters: &[Parameter { name: "name", about: "one workload", kind: ParameterKind::Word }],
    },
    Tool {
        name: "plan",
        about: "Print the plan of a comparison without running it",
        verb: &["plan", "compare"],
        parameters: &COMPARISON,
    },
    Tool {
        name: "run",
        about: "Compare servers or settings under load: starts them on this machine and loads them for minutes. As root, it installs the packages of missing servers without asking",
        verb: &["compare", "--progress=json"],
        parameters: &COMPARISON,
    },
    Tool {
        name: "show",
        about: "Show a run: its answer, its trials and why some do not count",
        verb: &["show"],
        parameters: &[RUN],
    },
    Tool {
        name: "explain",
        about: "Find out what limits the servers of a run, or a server, by experiments under load: takes minutes. As root, it installs the packages of missing servers without asking",
        verb: &["explain", "--progress=json"],
        parameters: &[Parameter {
            name: "what",
            about: "a run, or one or two servers",
            kind: ParameterKind::Words,
        }],
    },
];

/// The tools as the protocol lists them.
pub(super) fn all() -> Value {
    Value::Array(TOOLS.iter().map(described).collect())
}

fn described(tool: &Tool) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for Parameter { name, about, kind } in tool.parameters {
        let schema = match kind {
            ParameterKind::Words => {
                json!({ "type": "array", "items": { "type": "string" }, "minItems": 1, "description": about })
            }
            ParameterKind::Word | ParameterKind::Text => json!({ "type": "string", "description": about }),
            ParameterKind::Flag => json!({ "type": "boolean", "description": about }),
        };
        if *kind == ParameterKind::Words {
            required.push(*name);
        }
        properties.insert((*name).to_owned(), schema);
    }
    let starts_servers = starts_servers(tool.name);
    json!({
        "name": tool.name,
        "description": tool.about,
        "inputSchema": { "type": "object", "properties": properties, "required": required, "additionalProperties": false },
        // Those that load a machine, and install packages on it, are asked about by careful clients.
        "annotations": { "readOnlyHint": !starts_servers, "destructiveHint": false, "openWorldHint": starts_servers },
    })
}

/// Whether a tool starts servers and loads them. The others read, and end soon.
pub(super) fn starts_servers(name: &str) -> bool {
    matches!(name, "run" | "explain")
}

/// The command line of a call, or what is wrong with its arguments.
pub(super) fn arguments(name: &str, given: &Value) -> Result<Vec<String>, String> {
    let Some(tool) = TOOLS.iter().find(|tool| tool.name == name) else {
        return Err(format!("there is no tool {name:?}: see tools/list"));
    };
    let empty = Map::new();
    let given = given.as_object().unwrap_or(&empty);
    let mut line: Vec<String> = tool.verb.iter().map(|&word| word.to_owned()).collect();
    let mut words = Vec::new();
    for key in given.keys() {
        if tool.parameters.iter().all(|parameter| parameter.name != key) {
            return Err(format!("{name} has no parameter {key:?}"));
        }
    }
    for Parameter { name: key, kind, .. } in tool.parameters {
        match (kind, given.get(*key)) {
            (ParameterKind::Words, Some(Value::Array(all))) if !all.is_empty() => {
                for word in all {
                    words.push(text_of(key, word)?);
                }
            }
            (ParameterKind::Words, _) => return Err(format!("{key} is a list of one or more texts")),
            (_, None) | (ParameterKind::Flag, Some(Value::Bool(false))) => {}
            (ParameterKind::Word, Some(word)) => words.push(text_of(key, word)?),
            (ParameterKind::Text, Some(value)) => line.push(format!("--{key}={}", text_of(key, value)?)),
            (ParameterKind::Flag, Some(Value::Bool(true))) => line.push(format!("--{key}")),
            (ParameterKind::Flag, Some(_)) => return Err(format!("{key} is true or false")),
        }
    }
    if !words.is_empty() {
        // What follows is no option, whatever it begins with.
        line.push("--".to_owned());
        line.append(&mut words);
    }
    Ok(line)
}

fn text_of(key: &str, value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        _ => Err(format!("{key} is a text")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, given: &Value) -> Result<String, String> {
        arguments(name, given).map(|line| line.join(" "))
    }

    #[test]
    fn a_call_becomes_a_command_line() {
        let given = json!({ "variants": ["nginx", "apache"], "quick": true, "slo": "p99<5ms" });
        assert_eq!(line("plan", &given), Ok("plan compare --quick --slo=p99<5ms -- nginx apache".to_owned()));
        assert_eq!(line("doctor", &json!(null)), Ok("doctor".to_owned()));
        assert_eq!(line("show", &json!({})), Ok("show".to_owned()));
    }

    #[test]
    fn tools_that_may_install_packages_are_said_to_reach_the_outside() {
        for tool in all().as_array().expect("a list") {
            let may_install = matches!(tool["name"].as_str(), Some("run" | "explain"));
            assert_eq!(tool["annotations"]["openWorldHint"], may_install, "{tool}");
            let about = tool["description"].as_str().expect("a text");
            assert_eq!(about.contains("installs the packages"), may_install, "{about}");
        }
    }

    #[test]
    fn no_call_passes_an_option_on() {
        let smuggled = json!({ "variants": ["--yes", "nginx"], "workload": "--yes" });
        assert_eq!(
            line("run", &smuggled),
            Ok("compare --progress=json --workload=--yes -- --yes nginx".to_owned())
        );
        assert!(
            line("run", &json!({ "variants": ["nginx"], "yes": true }))
                .is_err_and(|why| why.contains("no parameter"))
        );
        assert!(line("run", &json!({})).is_err());
        assert!(line("rm", &json!({})).is_err());
    }
}
