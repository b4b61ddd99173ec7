//! Pages show what the tables have: at once, the home page when its time is over. And the site goes on without its cache.

use anyhow::Result;

use super::client::Ask;
use super::normal_form::difference;
use super::subject::{Proof, Request, Site};

/// Tables are changed behind the application's back; the next pages must show it.
pub fn prove_fresh_pages(reference: &mut Site, candidate: &mut Site, _: &Request) -> Result<Proof> {
    let mut differences = Vec::new();
    // The first event of the home page, with a tag and a page of its own, all asked for before the change.
    let event: u32 = reference
        .tables
        .one("SELECT id FROM event WHERE starts_at >= '2026-01-01' ORDER BY starts_at, id LIMIT 1")?;
    let tag: String = reference
        .tables
        .one(&format!("SELECT name FROM tag JOIN event_tag ON tag.id = tag_id WHERE event_id = {event} ORDER BY name LIMIT 1"))?;
    let pages = [
        format!("/events/{event}"),
        format!("/tags/{tag}"),
        "/?page=1&order=date".to_owned(),
        "/".to_owned(),
    ];
    for round in 0..3 {
        for site in [&mut *reference, &mut *candidate] {
            for page in &pages {
                site.client.send(&Ask::get(page))?;
            }
            site.tables
                .execute(&format!("UPDATE event SET title = 'Fresh title {round}' WHERE id = {event}"))?;
        }
        for page in &pages {
            compare(reference, candidate, page, &mut differences)?;
        }
        for site in [&mut *reference, &mut *candidate] {
            site.tables.ask_cache("delete home:fresh")?;
        }
        compare(reference, candidate, "/", &mut differences)?;
        let home = candidate.client.send(&Ask::get("/"))?;
        if !home.body.contains(&format!("Fresh title {round}")) {
            differences.push("GET /: the home page is old although its time is over".to_owned());
        }
    }
    Ok(Proof {
        name: "staleness",
        compared: format!("{} pages after each of 3 changes of a table", pages.len() + 1),
        differences,
    })
}

/// The cache's machine is gone.
pub fn prove_without_cache(reference: &mut Site, candidate: &mut Site, _: &Request) -> Result<Proof> {
    let mut differences = Vec::new();
    reference.stack.stop_cache();
    candidate.stack.stop_cache();
    // Pages that no visitor's change is on.
    let pages = ["/persons/person100", "/persons/person101", "/persons/new", "/events/new", "/tags/nothing"];
    for page in pages {
        compare(reference, candidate, page, &mut differences)?;
    }
    // New events have other numbers on each side after changes that came at once, so this page is counted, not compared.
    let home = candidate.client.send(&Ask::get("/"))?;
    let events = home.body.matches("class=\"event\"").count();
    if home.status != 200 || events != 10 {
        differences.push(format!("GET /: status {} and {events} events instead of 200 and 10", home.status));
    }
    Ok(Proof {
        name: "no cache",
        compared: format!("{} pages after memcached has ended", pages.len() + 1),
        differences,
    })
}

fn compare(
    reference: &mut Site,
    candidate: &mut Site,
    page: &str,
    differences: &mut Vec<String>,
) -> Result<()> {
    let ask = Ask::get(page);
    if let Some(difference) = difference(&reference.client.send(&ask)?, &candidate.client.send(&ask)?) {
        differences.push(format!("{}: {difference}", ask.name()));
    }
    Ok(())
}
