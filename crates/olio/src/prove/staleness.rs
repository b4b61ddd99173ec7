//! Pages show what the tables have: at once, the home page when its time is over. And the site goes on without its cache.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Result, anyhow};

use super::client::Ask;
use super::normal_form::difference;
use super::subject::{Proof, Request, Site};
use super::verify::{Choice, LOADING_VISITORS, PAGES_OF_LOADING_VISITOR};

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

/// Members ask for pages at the same time, and meanwhile the cache's machine goes. Returns the pages that were not answered.
fn lose_cache_under_load(site: &mut Site) -> Result<Vec<String>> {
    /// Pages before it goes.
    const BEFORE: u32 = LOADING_VISITORS * 4;
    let mut visitors = Vec::new();
    for visitor in 0..LOADING_VISITORS {
        let mut choice = Choice::of(&mut site.tables, u64::from(visitor))?;
        let mut client = site.new_client();
        client.log_in(choice.member())?;
        visitors.push((choice, client));
    }
    let asked = AtomicU32::new(0);
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for (mut choice, mut client) in visitors {
            let asked = &asked;
            threads.push(scope.spawn(move || {
                let mut failed = Vec::new();
                for number in 0..PAGES_OF_LOADING_VISITOR {
                    // The home page is the one that is made with the cache.
                    let ask = if number % 2 == 0 { Ask::get("/") } else { choice.page() };
                    match client.send(&ask) {
                        Ok(reply) if reply.status == 200 || reply.status == 404 => {}
                        Ok(reply) => failed.push(format!("{}: status {}", ask.name(), reply.status)),
                        Err(error) => failed.push(format!("{}: {error:#}", ask.name())),
                    }
                    asked.fetch_add(1, Ordering::Relaxed);
                }
                failed
            }));
        }
        while asked.load(Ordering::Relaxed) < BEFORE {
            std::thread::sleep(Duration::from_millis(1));
        }
        site.stack.stop_cache();
        let mut failed = Vec::new();
        for thread in threads {
            failed.extend(thread.join().map_err(|_| anyhow!("a visitor's thread has panicked"))?);
        }
        Ok(failed)
    })
}

/// The cache's machine is gone.
pub fn prove_without_cache(reference: &mut Site, candidate: &mut Site, _: &Request) -> Result<Proof> {
    reference.stack.stop_cache();
    let mut differences = lose_cache_under_load(candidate)?;
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
        compared: format!(
            "{} pages of {LOADING_VISITORS} members while memcached ends, and {} after it has",
            LOADING_VISITORS as usize * PAGES_OF_LOADING_VISITOR,
            pages.len() + 1
        ),
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
