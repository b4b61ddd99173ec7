//! Proves that an implementation does what the reference does: both are started on copies of the same tables, are asked the same, and
//! must answer and change the same with the same effort. What is in no reply and no table is not looked at.
//!
//! | file | content |
//! |---|---|
//! | `subject.rs` | what is asked for, the two sites, what a proof finds |
//! | `client.rs` | requests with cookies and forms, and replies |
//! | `normal_form.rs` | what of a page is compared |
//! | `tables.rs` | checksums of tables, counters of statements and cache calls |
//! | `requests.rs` | every route for every kind of visitor, and the proof that replies are equal |
//! | `changes.rs` | changes by a seed |
//! | `stored_files.rs` | what the object store has |
//! | `state.rs`, `effort.rs`, `staleness.rs` | the other proofs |
//! | `verify.rs`, `after_change.rs` | a running site that has been under load, and the reference on its tables: pages, changes |
//! | `cheats.rs` | implementations that only seem to work, to prove the proofs |

mod after_change;
mod changes;
mod cheats;
mod client;
mod effort;
mod normal_form;
mod requests;
mod staleness;
mod state;
mod stored_files;
mod subject;
mod tables;
mod verify;

use std::time::Instant;

use anyhow::{Result, bail};

use crate::data::WorkloadFolder;
use crate::needs;
use crate::stack::Implementation;
pub use cheats::CheatRequest;
use cheats::{CHEATS, Cheat, LoadCheat};
pub use subject::Request;
use subject::{Proof, Site};
pub use verify::Request as VerifyRequest;

/// Finds differences between the reference and a candidate.
type Prove = fn(&mut Site, &mut Site, &Request) -> Result<Proof>;

/// Prints a line for each proof. An error says which have failed.
pub fn run(request: &Request) -> Result<()> {
    // The reference needs less, and starts first.
    let workload = WorkloadFolder::open(request.data.workload.as_deref())?;
    needs::check(&workload.path, &request.implementation.server())?;
    let mut reference = Site::start(Implementation::Rust, request)?;
    let mut candidate = Site::start(request.implementation, request)?;
    if request.cheats {
        return find_cheats(&mut reference, &mut candidate, request);
    }
    let proofs: [Prove; 7] = [
        requests::prove,
        effort::prove,
        state::prove_sequence,
        staleness::prove_fresh_pages,
        state::prove_concurrency,
        verify::prove_after_load,
        staleness::prove_without_cache,
    ];
    let mut failed = Vec::new();
    for proof in proofs {
        let begin = Instant::now();
        let proof = proof(&mut reference, &mut candidate, request)?;
        proof.print(begin.elapsed());
        if !proof.differences.is_empty() {
            failed.push(proof.name);
        }
    }
    if !failed.is_empty() {
        bail!("the implementation differs from the reference: {}", failed.join(", "));
    }
    println!("{:?} does what the reference does", request.implementation);
    Ok(())
}

/// Puts one cheat after the other before the candidate. An error names the cheats that were not found.
fn find_cheats(reference: &mut Site, candidate: &mut Site, request: &Request) -> Result<()> {
    let mut missed = Vec::new();
    for cheat in CHEATS {
        candidate.client.address.set_port(cheats::put_before(&candidate.stack, cheat)?);
        let (prove, trace) = finder(cheat);
        let proof = prove(reference, candidate, request)?;
        if let Some(difference) = proof.differences.iter().find(|difference| difference.contains(trace)) {
            println!("{cheat:?} is found by {}: {difference}", proof.name);
        } else {
            println!("{cheat:?} is not found by {}: {:?}", proof.name, proof.differences.first());
            missed.push(format!("{cheat:?}"));
        }
    }
    if !missed.is_empty() {
        bail!("these cheats are not found: {}", missed.join(", "));
    }
    println!("all {} cheats are found", CHEATS.len());
    Ok(())
}

/// The proof that must find a cheat, and what its difference is about.
fn finder(cheat: Cheat) -> (Prove, &'static str) {
    match cheat {
        Cheat::CachedReply => (staleness::prove_fresh_pages, "GET /events/"),
        Cheat::StaleList => (staleness::prove_fresh_pages, "GET /: "),
        Cheat::OpenDoor => (requests::prove, "status 303 instead of status 403"),
        Cheat::ShortList => (requests::prove, "/tags/"),
        Cheat::MoreStatements => (effort::prove, "reads"),
        Cheat::ClearPasswords => (state::prove_sequence, "table person"),
        Cheat::GreyThumbnails => (state::prove_sequence, "shows another picture"),
        Cheat::CachedByBrowsers => (requests::prove, "caching cache-control"),
        Cheat::LostFile => (state::prove_sequence, "is missing"),
        Cheat::MissingWrite => (state::prove_sequence, "table comment"),
        Cheat::UnderLoad(LoadCheat::KeptReplies) => (verify::prove_after_load, "GET /events/"),
        Cheat::UnderLoad(LoadCheat::StaleLists) => (verify::prove_after_load, "after POST"),
        Cheat::UnderLoad(LoadCheat::KeptHome) => (verify::prove_after_load, "GET / for"),
        Cheat::UnderLoad(LoadCheat::LostWrites) => (verify::prove_after_load, "the table does not"),
    }
}
