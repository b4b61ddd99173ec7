//! Several clients together: what they count must be what the known server counts, and each must have its share.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use load::engine::{self, LoadOutcome, RunContext, RunError};
use load::record::ErrorKind;
use load::spec::{Arrivals, LoadSpec, Shape};
use load::summary::Summary;

use crate::finding::{Finding, FindingUnit};
use crate::instrument::{CheckError, TestProtocol};
use crate::known::account::Account;
use crate::known::behaviour::Behaviour;

/// Requests of a closed loop; not a multiple of any number of clients, nor of the periods below.
const REQUESTS: u64 = 20_011;
/// Connections of each client.
const CONNECTIONS: u32 = 8;
const ERRS_EVERY: u64 = 50;
const DROPS_EVERY: u64 = 400;
/// The open loop: arrivals a second, and its length.
const RATE: f64 = 2_000.0;
const LENGTH: Duration = Duration::from_secs(1);

/// A known server on another machine.
pub trait FarServer {
    /// Where the clients reach it.
    fn address(&self) -> SocketAddr;

    /// Its counts so far.
    fn account(&mut self) -> Result<Account, CheckError>;
}

/// Starts a known server; its host and port are not those of the behaviour.
pub type StartServer<'a> = dyn FnMut(&Behaviour) -> Result<Box<dyn FarServer>, CheckError> + 'a;

/// Loads known servers from the clients of the context.
pub fn check(
    context: &RunContext,
    start: &mut StartServer<'_>,
    seed: u64,
) -> Result<Vec<Finding>, CheckError> {
    let mut findings = Vec::new();
    let mut plain = start(&Behaviour { seed, ..Behaviour::on(0) })?;
    for protocol in [TestProtocol::Http, TestProtocol::Memcached] {
        let name = protocol.name();
        let closed = |spec: LoadSpec| spec.with_duration(None).with_requests(REQUESTS);
        let measured = run(context, plain.as_mut(), protocol, seed, closed)?;
        findings.push(count(
            format!("{name}, closed loop: replies"),
            measured.replies,
            measured.summary.requests,
        ));
        let of_clients = measured.summary.clients.iter().map(|client| client.requests).sum();
        findings.push(count(
            format!("{name}, closed loop: sum of the clients"),
            measured.replies,
            of_clients,
        ));
    }
    findings.extend(open_loop(context, plain.as_mut(), seed)?);
    drop(plain);
    let behaviour =
        Behaviour { seed, errs_every: Some(ERRS_EVERY), drops_every: Some(DROPS_EVERY), ..Behaviour::on(0) };
    let mut failing = start(&behaviour)?;
    let closed = |spec: LoadSpec| spec.with_duration(None).with_requests(REQUESTS);
    let Measured { account, summary, .. } = run(context, failing.as_mut(), TestProtocol::Http, seed, closed)?;
    let failed = |kind| summary.errors.get(&kind).copied().unwrap_or(0);
    findings.push(count("HTTP, with failures: replies", account.replies, summary.requests));
    findings.push(count("HTTP, with failures: errors", account.errors, failed(ErrorKind::UnexpectedReply)));
    findings.push(count("HTTP, with failures: drops", account.dropped, failed(ErrorKind::Closed)));
    Ok(findings)
}

/// The arrivals of the one schedule: all of them, and each client's share.
fn open_loop(
    context: &RunContext,
    server: &mut dyn FarServer,
    seed: u64,
) -> Result<Vec<Finding>, CheckError> {
    let even = |spec: LoadSpec| spec.with_shape(Shape::open(RATE, Arrivals::Constant)).with_duration(LENGTH);
    let Measured { outcome, summary, replies, .. } = run(context, server, TestProtocol::Http, seed, even)?;
    let known = (RATE * LENGTH.as_secs_f64()) as u64;
    let mut findings = vec![
        count("HTTP, open loop: arrivals", known, outcome.total.client.offered),
        count("HTTP, open loop: replies", replies, summary.requests),
    ];
    let clients = outcome.clients.len() as u64;
    for (place, client) in (0..).zip(&outcome.clients) {
        let share = known / clients + u64::from(place < known % clients);
        let case = format!("HTTP, open loop: arrivals of {}", client.name);
        findings.push(count(case, share, client.outcome.total.client.offered));
    }
    Ok(findings)
}

/// A load with the server's counts of it.
struct Measured {
    outcome: LoadOutcome,
    summary: Summary,
    account: Account,
    /// Successful replies to this load.
    replies: u64,
}

fn run(
    context: &RunContext,
    server: &mut dyn FarServer,
    protocol: TestProtocol,
    seed: u64,
    change: impl FnOnce(LoadSpec) -> LoadSpec,
) -> Result<Measured, CheckError> {
    let clients = context.clients.len() as u32;
    let before = server.account()?.replies;
    let spec = LoadSpec::closed(protocol.spec(), server.address(), CONNECTIONS * clients);
    let spec = change(spec.with_workers(clients).with_seed(seed));
    let outcome = engine::run(&spec, context, &mut |_| ()).map_err(|error| match error {
        RunError::Interrupted => CheckError::Interrupted,
        other => other.into(),
    })?;
    if context.interrupted.load(Ordering::Relaxed) {
        return Err(CheckError::Interrupted);
    }
    if let Some(why) = outcome.clients.iter().find_map(|client| client.lost.clone()) {
        return Err(CheckError::Host(why.into()));
    }
    let account = server.account()?;
    let replies = account.replies - before;
    Ok(Measured { summary: Summary::of(&outcome), outcome, account, replies })
}

fn count(case: impl Into<String>, known: u64, measured: u64) -> Finding {
    Finding::new("clients", case, FindingUnit::Count, known as f64, measured as f64)
}
