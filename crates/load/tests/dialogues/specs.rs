//! The dialogues that hostile servers are tried on: every protocol with a login or a greeting, and users of HTTP, who keep what a
//! server sends.

use load::drivers::{http::Http, redis::Redis, smtp::Smtp, sql::Mysql, sql::Postgres};

use crate::server::{HostileServer, talk};

/// The password is the first line of this file, which every Linux has: `Linux`.
const PASSWORD: &str = "/proc/sys/kernel/ostype";

fn sql() -> String {
    format!(
        r#"{{
            "login": {{ "user": "u", "database": "d", "password": {{ "file": {PASSWORD:?} }} }},
            "tables": {{ "tables": 2, "rows": 100 }},
            "work": {{ "transactions": [["point-select", 1.0], ["read-write", 1.0]] }}
        }}"#
    )
}

/// Lets MySQL's driver log in and run transactions.
pub fn mysql(server: HostileServer<'_>) -> u64 {
    talk::<Mysql>(&sql(), server)
}

/// Lets PostgreSQL's driver log in and run transactions.
pub fn postgres(server: HostileServer<'_>) -> u64 {
    talk::<Postgres>(&sql(), server)
}

/// Lets the driver of RESP log in, read and write.
pub fn redis(server: HostileServer<'_>) -> u64 {
    let spec = format!(
        r#"{{
            "auth": {{ "password": {{ "file": {PASSWORD:?} }} }},
            "keyspace": {{
                "mix": [["get", 1.0], ["set", 1.0], ["delete", 1.0]],
                "keys": 10, "value_size": "10", "verify": true
            }}
        }}"#
    );
    talk::<Redis>(&spec, server)
}

/// Lets users of HTTP log in: cookies, captures of each kind, statics, the images of a page, a redirect, a repetition.
pub fn http_users(server: HostileServer<'_>) -> u64 {
    let spec = r#"{
        "authority": "shop",
        "operations": [],
        "scenario": {
            "cookies": { "slots": 2, "bytes": 24 },
            "values": { "token": 8, "item": 4, "place": 16, "image": { "bytes": 6, "list": 3 } },
            "cache": { "warm": 50, "items": 2 },
            "operations": [{ "name": "login", "steps": [
                {
                    "path": "/",
                    "expect": { "absent": "error", "count": { "text": "id=", "value": "..20" } },
                    "capture": {
                        "token": { "between": ["token=\"", "\""], "pick": "last" },
                        "item": { "between": ["id=", ";"], "pick": "random", "optional": true },
                        "image": { "between": ["src=\"", "\""], "pick": "all", "optional": true }
                    },
                    "statics": ["/a.css", "/b.js"],
                    "repeat": { "while": "item", "most": 3 }
                },
                { "path": "/media/{{ image }}", "each": { "value": "image", "once": true } },
                {
                    "path": "/login",
                    "form": { "token": "{{ token }}", "user": "{{ user }}" },
                    "capture": { "place": { "header": "Location" } },
                    "set": { "member": true }
                },
                {
                    "path": "{{ place }}",
                    "headers": { "X-Token": "{{ token }}" },
                    "when": { "member": true },
                    "capture": { "item": { "json": "/items/*/id", "pick": 2, "optional": true } },
                    "set": { "member": false, "user": "new" }
                }
            ] }]
        }
    }"#;
    talk::<Http>(spec, server)
}

/// Lets SMTP's driver send messages.
pub fn smtp(server: HostileServer<'_>) -> u64 {
    let spec = r#"{
        "messages_per_session": 2,
        "mix": [
            { "size": "1k", "recipients": "1..5" },
            { "name": "one by one", "size": "10", "pipelining": false }
        ]
    }"#;
    talk::<Smtp>(spec, server)
}
