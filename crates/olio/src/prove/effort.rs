//! What an operation costs: statements that read, statements that write, transactions, calls of the cache. The budget is the same for
//! all implementations; what deviates from it is listed with its reason.

use anyhow::Result;

use super::changes::Changes;
use super::client::{Ask, Body, Client};
use super::requests::Subjects;
use super::subject::{Proof, Request, Site};
use crate::data::rows::Scale;
use crate::site::SessionStore;
use crate::stack::Implementation;

/// Counts in the order of `COUNTERS`.
type Cost = [u64; 6];
const COUNTERS: [&str; 6] = ["reads", "writes", "transactions", "cmd_get", "cmd_set", "cmd_delete"];
/// The place of the first one of the cache.
const FIRST_OF_CACHE: usize = 3;

/// Whether nobody is logged in, or the user.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Nobody,
    User,
}

/// An operation with its budget, which contract.md has too.
struct Operation {
    name: &'static str,
    by: By,
    ask: fn(&Subjects, &mut Changes) -> Ask,
    budget: Cost,
}

const OPERATIONS: &[Operation] = &[
    Operation {
        name: "home, cached, anonymous",
        by: By::Nobody,
        ask: |_, _| Ask::get("/"),
        budget: [0, 0, 0, 2, 0, 0],
    },
    Operation { name: "home, cached", by: By::User, ask: |_, _| Ask::get("/"), budget: [1, 0, 0, 3, 0, 0] },
    Operation {
        name: "home, filtered",
        by: By::User,
        ask: |_, _| Ask::get("/?order=created&page=2"),
        budget: [4, 0, 0, 1, 0, 0],
    },
    Operation { name: "event, anonymous", by: By::Nobody, ask: event, budget: [5, 0, 0, 0, 0, 0] },
    Operation { name: "event", by: By::User, ask: event, budget: [6, 0, 0, 1, 0, 0] },
    Operation {
        name: "attend",
        by: By::User,
        ask: |subjects, _| on_event(subjects, "attend"),
        budget: [2, 1, 1, 1, 0, 0],
    },
    Operation {
        name: "unattend",
        by: By::User,
        ask: |subjects, _| on_event(subjects, "unattend"),
        budget: [2, 1, 1, 1, 0, 0],
    },
    Operation {
        name: "comment",
        by: By::User,
        ask: |subjects, _| on_event(subjects, "comments"),
        budget: [0, 1, 0, 1, 0, 0],
    },
    Operation {
        name: "rating",
        by: By::User,
        ask: |subjects, _| on_event(subjects, "rating"),
        budget: [0, 0, 0, 1, 1, 0],
    },
    Operation {
        name: "event form",
        by: By::User,
        ask: |_, _| Ask::get("/events/new"),
        budget: [1, 0, 0, 1, 0, 0],
    },
    Operation {
        name: "tag search",
        by: By::User,
        ask: |_, _| Ask::post("/tags", vec![("tag", "topic3".to_owned())]),
        budget: [3, 0, 0, 1, 0, 0],
    },
    Operation {
        name: "tag, page 2",
        by: By::Nobody,
        ask: |_, _| Ask::get("/tags/topic3?page=2"),
        budget: [2, 0, 0, 0, 0, 0],
    },
    Operation { name: "person, anonymous", by: By::Nobody, ask: person, budget: [3, 0, 0, 0, 0, 0] },
    Operation { name: "person", by: By::User, ask: person, budget: [5, 0, 0, 1, 0, 0] },
    Operation {
        name: "own page",
        by: By::User,
        ask: |subjects, _| Ask::get(format!("/persons/person{}", subjects.user)),
        budget: [6, 0, 0, 1, 0, 0],
    },
    Operation {
        name: "request friendship",
        by: By::User,
        ask: |_, _| friends("request"),
        budget: [0, 1, 0, 1, 0, 0],
    },
    Operation {
        name: "approve friendship",
        by: By::User,
        ask: |_, _| friends("approve"),
        budget: [1, 1, 0, 1, 1, 0],
    },
    Operation { name: "log in", by: By::Nobody, ask: log_in, budget: [2, 0, 0, 0, 1, 0] },
    Operation {
        name: "log out",
        by: By::User,
        ask: |_, _| confirmed("/logout", vec![]),
        budget: [0, 0, 0, 1, 0, 1],
    },
    // The address, the event, three tags and their relations, the attendance, the places of the files.
    Operation {
        name: "add event",
        by: By::User,
        ask: |_, changes| with_three_tags(changes.event()),
        budget: [0, 10, 1, 1, 0, 0],
    },
    // The address, the person, the places of the files.
    Operation {
        name: "add person",
        by: By::Nobody,
        ask: |_, changes| changes.person(),
        budget: [0, 3, 1, 0, 0, 0],
    },
];

/// What is above the budget, with the reason.
const DEVIATIONS: &[(Implementation, &str, usize, u64)] = &[
    // PHP's session handler looks for a session before it makes one.
    (Implementation::Php, "log in", 3, 1),
    // Jakarta Persistence changes rows in transactions only.
    (Implementation::Java, "comment", 2, 1),
    (Implementation::Java, "request friendship", 2, 1),
    (Implementation::Java, "approve friendship", 2, 1),
];

pub fn prove(reference: &mut Site, candidate: &mut Site, request: &Request) -> Result<Proof> {
    let mut differences = Vec::new();
    let subjects = Subjects::draw(&mut reference.tables, request.data.users_of_rows()?, request.data.seed)?;
    for (site, implementation) in [(reference, Implementation::Rust), (candidate, request.implementation)] {
        // The generator's first person has a new name.
        let mut changes = Changes::new(Scale::of(request.data.users_of_rows()?), 3, "effort");
        for operation in OPERATIONS {
            let mut client = site.new_client();
            if operation.by == By::User {
                client.log_in(subjects.user)?;
            }
            let ask = (operation.ask)(&subjects, &mut changes);
            let cost = cost(site, &mut client, &ask)?;
            let budget = allowed(operation, implementation, request.sessions);
            if cost != budget {
                let mut counts = Vec::new();
                for (index, counter) in
                    COUNTERS.into_iter().enumerate().filter(|(index, _)| cost[*index] != budget[*index])
                {
                    counts.push(format!("{counter} {} instead of {}", cost[index], budget[index]));
                }
                differences.push(format!("{implementation:?}, {}: {}", operation.name, counts.join(", ")));
            }
        }
    }
    Ok(Proof {
        name: "effort",
        compared: format!("statements and cache calls of {} operations", OPERATIONS.len()),
        differences,
    })
}

fn allowed(operation: &Operation, implementation: Implementation, sessions: SessionStore) -> Cost {
    let mut budget = operation.budget;
    for (of, name, counter, more) in DEVIATIONS {
        let is_of_sessions = *counter >= FIRST_OF_CACHE;
        if *of == implementation
            && *name == operation.name
            && !(is_of_sessions && sessions == SessionStore::Native)
        {
            budget[*counter] += more;
        }
    }
    if sessions == SessionStore::Memcached {
        return budget;
    }
    // The cache has nothing but the home page: a member's page does not read the session there, and none is written or deleted.
    let [reads, writes, transactions, gets, _, _] = budget;
    let gets = if operation.by == By::User { gets - 1 } else { gets };
    [reads, writes, transactions, gets, 0, 0]
}

fn cost(site: &mut Site, client: &mut Client, ask: &Ask) -> Result<Cost> {
    let before = site.tables.counters()?;
    let reply = client.send(ask)?;
    anyhow::ensure!(reply.status < 400, "{}: status {}", ask.name(), reply.status);
    let after = site.tables.counters()?;
    Ok(COUNTERS.map(|counter| after[counter] - before[counter]))
}

fn with_three_tags(mut ask: Ask) -> Ask {
    if let Body::Multipart(fields, _) = &mut ask.body {
        for (name, value) in fields {
            if *name == "tags" {
                "topic5 topic4 new-topic".clone_into(value);
            }
        }
    }
    ask
}

fn event(subjects: &Subjects, _: &mut Changes) -> Ask {
    Ask::get(format!("/events/{}", subjects.event))
}

fn person(subjects: &Subjects, _: &mut Changes) -> Ask {
    Ask::get(format!("/persons/person{}", subjects.owner))
}

fn log_in(subjects: &Subjects, _: &mut Changes) -> Ask {
    Ask::log_in(&crate::data::username(subjects.user), &subjects.user.to_string())
}

fn on_event(subjects: &Subjects, action: &str) -> Ask {
    let fields = vec![("comment", "A comment".to_owned()), ("rating", "4".to_owned())];
    confirmed(&format!("/events/{}/{action}", subjects.event), fields)
}

fn friends(action: &str) -> Ask {
    confirmed("/friends", vec![("action", action.to_owned()), ("person", "person20".to_owned())])
}

fn confirmed(path: &str, mut fields: Vec<(&'static str, String)>) -> Ask {
    fields.push(("token", "{token}".to_owned()));
    Ask::post(path, fields)
}
