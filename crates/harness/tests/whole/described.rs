//! The API is as `openapi.json` says: the file is that of the program, each route is there, and real answers have the types of the file.

use serde_json::{Value, json};

use crate::home::{Home, call};

/// A problem of a value that is not as its schema says; nothing where it is.
fn problem(document: &Value, schema: &Value, value: &Value) -> Option<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = document.pointer(reference.trim_start_matches('#')).expect("a schema");
        return problem(document, target, value);
    }
    if let Some(one_of) = schema["oneOf"].as_array() {
        let problems: Vec<String> = one_of.iter().map_while(|one| problem(document, one, value)).collect();
        return (problems.len() == one_of.len()).then(|| problems.join("; "));
    }
    if let Some(all_of) = schema["allOf"].as_array() {
        return all_of.iter().find_map(|part| problem(document, part, value));
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => return None,
    };
    let own = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let is_type = types.contains(&own) || (own == "integer" && types.contains(&"number"));
    if !is_type {
        return Some(format!("{value} is no {types:?}"));
    }
    if let Some(items) = value.as_array() {
        return items.iter().find_map(|item| problem(document, &schema["items"], item));
    }
    let fields = value.as_object()?;
    for required in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !fields.contains_key(required) {
            return Some(format!("{required} is missing in {value}"));
        }
    }
    let known = schema["properties"].as_object()?;
    fields.iter().find_map(|(name, field)| match known.get(name) {
        Some(schema) => problem(document, schema, field).map(|why| format!("{name}: {why}")),
        None => None,
    })
}

/// Whether an answer is as the route says.
fn check(document: &Value, method: &str, route: &str, (status, answer): &(u16, Value)) {
    let responses = &document["paths"][route][method.to_lowercase()]["responses"];
    assert!(responses.is_object(), "{method} {route} is not described");
    let is_done = (200..300).contains(status);
    let content = &responses[if is_done { "2XX" } else { "default" }]["content"];
    let what = format!("{method} {route}: {status} {answer}");
    match content.as_object().and_then(|content| content.iter().next()) {
        None => assert_eq!(answer, "", "{what}"),
        Some((media, content)) if media == "application/json" => {
            assert_eq!(problem(document, &content["schema"], answer), None, "{what}");
        }
        Some(_) => assert!(answer.is_string(), "{what}"),
    }
}

#[test]
fn the_api_is_as_it_is_described() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.json");
    let document = harness::http::openapi::document();
    let text = serde_json::to_string_pretty(&document).expect("JSON") + "\n";
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(file, &text).expect("a file");
    }
    let committed = std::fs::read_to_string(file).unwrap_or_default();
    assert!(committed == text, "openapi.json is old: UPDATE=1 cargo test -p harness --test whole described");
    let schemas = document["components"]["schemas"].as_object().expect("schemas");
    for reference in text.match_indices("#/components/schemas/") {
        let name = &text[reference.0 + "#/components/schemas/".len()..];
        let name = name.split('"').next().expect("a name");
        assert!(schemas.contains_key(name), "{name} has no schema");
    }
    let home = Home::without_controller();
    for (method, route) in harness::http::openapi::routes() {
        let path = route
            .trim_start_matches('/')
            .replace("{id}", "999")
            .replace("{name}", "nobody")
            .replace("{key}", "0");
        let answer = home.call(&method.to_uppercase(), &path, &json!({}));
        let is_unknown = answer.1["error"].as_str().is_some_and(|why| why.contains("there is no route"));
        assert!(answer.0 != 405 && !is_unknown, "{method} {path}: {answer:?}");
        check(&document, method, route, &answer);
    }
}

#[test]
fn real_answers_have_the_types_of_the_description() {
    let document = harness::http::openapi::document();
    let home = Home::without_controller();
    for number in 0..2 {
        archive::example::one_of_many(&home.runs(), number).expect("a run");
    }
    let plan = std::fs::read_to_string(home.plan(3)).expect("a plan");
    let new = json!({ "id": "c", "boot": "1", "name": "c", "host": "m", "version": "0", "rules": "all" });
    let server = home.for_controllers();
    check(&document, "POST", "/controllers", &call(&server, "POST", "controllers", &new));
    let asked = |method: &str, route: &str, path: &str, body: &Value| {
        let answer = home.call(method, path, body);
        assert!((200..300).contains(&answer.0), "{method} {path}: {answer:?}");
        check(&document, method, route, &answer);
        answer.1
    };
    let runs = asked("GET", "/runs", "runs", &Value::Null);
    let (first, second) = (runs[0]["id"].as_str().expect("an id"), runs[1]["id"].as_str().expect("an id"));
    let key = runs[0]["series"].as_str().expect("a series");
    asked("POST", "/entries", "entries", &json!({ "plan": plan }));
    asked("POST", "/entries", "entries", &json!({ "plan": plan, "paused": true }));
    asked("POST", "/sequences", "sequences", &json!({ "plans": [plan, plan], "paused": true }));
    asked("GET", "/entries", "entries?all=true", &Value::Null);
    asked("GET", "/entries/{id}", "entries/1", &Value::Null);
    asked("GET", "/entries/{id}/plan", "entries/1/plan", &Value::Null);
    asked("POST", "/entries/{id}/pause", "entries/1/pause", &json!({ "reason": "the test" }));
    asked("POST", "/entries/{id}/release", "entries/1/release", &json!({}));
    asked("POST", "/entries/{id}/move", "entries/1/move", &json!({ "last": true }));
    let claim = json!({ "controller": { "id": "c", "boot": "1" } });
    let claimed = call(&server, "POST", "claims", &claim);
    check(&document, "POST", "/claims", &claimed);
    let news = json!({ "token": claimed.1["work"]["attempt"]["token"], "begins": true });
    check(&document, "POST", "/attempts/{id}", &call(&server, "POST", "attempts/1", &news));
    asked("GET", "/hosts", "hosts", &Value::Null);
    asked("POST", "/entries/{id}/kill", "entries/2/kill", &json!({}));
    asked("PATCH", "/runs/{id}", &format!("runs/{first}"), &json!({ "add_tags": ["a"], "note": "b" }));
    asked("DELETE", "/runs/{id}", &format!("runs/{first}"), &json!({ "reason": "the test" }));
    asked("POST", "/runs/{id}/restore", &format!("runs/{first}/restore"), &json!({}));
    asked("POST", "/views", "views", &json!({ "name": "mine", "search": { "text": "nginx" } }));
    asked("GET", "/views", "views", &Value::Null);
    asked("PATCH", "/views/{id}", "views/1", &json!({ "name": "yours" }));
    asked("GET", "/series/{key}", &format!("series/{key}"), &Value::Null);
    asked("GET", "/compare", &format!("compare?runs={first},{second}"), &Value::Null);
    asked("GET", "/audit", "audit", &Value::Null);
    asked("POST", "/links", "links", &json!({}));
}

#[test]
fn a_request_that_makes_no_sense_is_a_problem_in_json() {
    let home = Home::without_controller();
    for (method, path, body, status) in [
        ("GET", "entries/seven", Value::Null, 400),
        ("GET", "entries?all=maybe", Value::Null, 400),
        ("POST", "entries", json!({ "plan": 7 }), 422),
        ("POST", "entries", Value::Null, 400),
        ("GET", "nothing", Value::Null, 404),
        ("DELETE", "hosts", Value::Null, 405),
    ] {
        let answer = home.call(method, path, &body);
        assert_eq!(answer.0, status, "{method} {path}: {answer:?}");
        assert!(answer.1["error"].as_str().is_some_and(|why| !why.is_empty()), "{method} {path}: {answer:?}");
    }
}
