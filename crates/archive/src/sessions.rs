//! Finds the runs of one plan beside a run, and combines their ratios. A run of `showdown confirm` names the run that it confirms in
//! its plan; all runs that name the same one, and that one, are sessions of one plan.

use crate::{
    layout,
    model::{
        Comparison, Facts, LeftOutRun, PairOverSessions, Plan, SessionEstimate, SessionRun, Sessions,
        SweepPoint, Verdict,
    },
    run::{folders, read_facts, read_plan, read_verdict},
    writer,
};
use stats::{
    confidence::{Confidence, ConfidenceInterval},
    sessions::{FEWEST_SESSIONS, RatioOverSessions, SessionRatio, combine},
};
use std::{collections::BTreeMap, fs, path::Path};

/// A run of the plan that has ended.
struct Session {
    run: String,
    verdict: Verdict,
    facts: Option<Facts>,
}

/// The answer of the runs of one plan, of which the run in this directory is one. `None` where no other run confirms it, and it
/// confirms none.
pub fn sessions(dir: &Path) -> Option<Sessions> {
    let dir = dir.canonicalize().ok()?;
    let root = dir.parent()?;
    sessions_of(&dir, |first| {
        let mut names: Vec<String> = folders(root).ok()?;
        names.retain(|name| name == first || names_as_confirmed(&root.join(name), first));
        Some(names)
    })
}

/// The same. `confirming` finds the names of the runs that confirm the first one, and of that one if it is there.
pub(crate) fn sessions_of(
    dir: &Path,
    confirming: impl FnOnce(&str) -> Option<Vec<String>>,
) -> Option<Sessions> {
    let dir = dir.canonicalize().ok()?;
    let (own, root) = (writer::run_id_of(&dir).ok()?, dir.parent()?);
    let plan = read_plan(&dir).ok()?;
    let first = plan.confirms.clone().unwrap_or_else(|| own.as_str().to_owned());
    let mut names = confirming(&first)?;
    // Others are compared with the first run.
    names.sort_by_key(|name| *name != first);
    if plan.confirms.is_none() && names.len() < 2 {
        return None;
    }
    let (mut found, mut left_out) = (Vec::new(), Vec::new());
    if !names.contains(&first) {
        left_out.push(LeftOutRun { run: first.clone(), why: "it is not in this archive".to_owned() });
    }
    for name in names {
        match session(&root.join(&name), &name, &plan, found.first()) {
            Ok(session) => found.push(session),
            Err(why) => left_out.push(LeftOutRun { run: name, why }),
        }
    }
    found.sort_by_key(|session| session.verdict.reached_unix_ms);
    let run = |session: &Session| SessionRun {
        run: session.run.clone(),
        reached_unix_ms: session.verdict.reached_unix_ms,
        machine: session.verdict.machine.clone(),
    };
    Some(Sessions { first, runs: found.iter().map(run).collect(), left_out, pairs: pairs(&found) })
}

/// Whether the plan of a run says that it confirms this one. Most runs confirm none, so their plans are not parsed.
fn names_as_confirmed(dir: &Path, first: &str) -> bool {
    let text = fs::read_to_string(dir.join(layout::PLAN)).unwrap_or_default();
    text.contains("confirms") && read_plan(dir).is_ok_and(|plan| plan.confirms.as_deref() == Some(first))
}

/// The run in a directory; an error is the reason why it is no session of the plan.
fn session(dir: &Path, name: &str, plan: &Plan, earlier: Option<&Session>) -> Result<Session, String> {
    let its_plan = read_plan(dir).map_err(|error| error.to_string())?;
    if question(&its_plan) != question(plan) {
        return Err("its plan is another one".to_owned());
    }
    let verdict = read_verdict(dir).ok().flatten().ok_or("it has no verdict")?;
    if verdict.is_interrupted() {
        return Err("it was interrupted".to_owned());
    }
    if verdict.comparisons.iter().all(|comparison| comparison.estimate.is_none()) {
        return Err("it has no ratio".to_owned());
    }
    let session = Session { run: name.to_owned(), verdict, facts: read_facts(dir).ok().flatten() };
    match earlier.map(|earlier| (versions(earlier), versions(&session))) {
        Some((before, now)) if before != now => {
            Err(format!("its servers are other ones: {} instead of {}", listed(&now), listed(&before)))
        }
        _ => Ok(session),
    }
}

/// A plan without what differs between its sessions.
fn question(plan: &Plan) -> Plan {
    Plan {
        showdown: String::new(),
        command: Vec::new(),
        seed: 0,
        tags: Vec::new(),
        fail_if: None,
        confirms: None,
        replaced: None,
        fallback: None,
        ..plan.as_begun()
    }
}

fn versions(session: &Session) -> BTreeMap<&str, &str> {
    let variants = session.facts.iter().flat_map(|facts| &facts.variants);
    variants.map(|variant| (variant.name.as_str(), variant.version.as_str())).collect()
}

fn listed(versions: &BTreeMap<&str, &str>) -> String {
    versions.iter().map(|(name, version)| format!("{name} {version}")).collect::<Vec<_>>().join(", ")
}

fn pairs(found: &[Session]) -> Vec<PairOverSessions> {
    let mut keys: Vec<(&str, &str, &SweepPoint)> = Vec::new();
    for Comparison { a, b, point, .. } in found.iter().flat_map(|session| &session.verdict.comparisons) {
        let is_known = |(x, y, at): &(&str, &str, &SweepPoint)| {
            *at == point && ((*x == a && *y == b) || (*x == b && *y == a))
        };
        if !keys.iter().any(is_known) {
            keys.push((a, b, point));
        }
    }
    keys.into_iter().filter_map(|(a, b, point)| pair(found, a, b, point)).collect()
}

/// One pair over sessions. The variant with the larger median is the numerator in each of them, so it may be another one.
fn pair(found: &[Session], a: &str, b: &str, point: &SweepPoint) -> Option<PairOverSessions> {
    let (mut ratios, mut estimates) = (Vec::new(), Vec::new());
    for session in found {
        let is_pair = |comparison: &&Comparison| {
            let names = [comparison.a.as_str(), comparison.b.as_str()];
            comparison.point == *point && (names == [a, b] || names == [b, a])
        };
        let Some(comparison) = session.verdict.comparisons.iter().find(is_pair) else { continue };
        let Some(estimate) = &comparison.estimate else { continue };
        let confidence = Confidence::new(estimate.confidence).unwrap_or(Confidence::P95);
        let turn = |value: f64| if comparison.a == a { value } else { 1.0 / value };
        let interval = ConfidenceInterval { low: estimate.low, high: estimate.high }.through(turn);
        let ratio = turn(estimate.ratio);
        let blocks = estimate.blocks as usize;
        let Some(of_session) = SessionRatio::of_interval(ratio, interval, blocks, confidence) else {
            continue;
        };
        ratios.push(of_session);
        estimates.push(SessionEstimate {
            run: session.run.clone(),
            ratio,
            low: interval.low,
            high: interval.high,
        });
    }
    let over = combine(&ratios, Confidence::P95)?;
    let metric = &found.first()?.verdict.metric;
    Some(PairOverSessions {
        a: a.to_owned(),
        b: b.to_owned(),
        point: point.clone(),
        ratio: over.ratio,
        low: over.interval.low,
        high: over.interval.high,
        between: over.between,
        sessions: estimates,
        sentence: sentence(metric, (a, b), &over),
    })
}

fn sentence(metric: &str, (a, b): (&str, &str), over: &RatioOverSessions) -> String {
    let RatioOverSessions { ratio, interval: ConfidenceInterval { low, high }, between, sessions } = over;
    let sessions = crate::model::plural(*sessions as u64, "session");
    let claim = format!("{a} / {b}, {metric}: {ratio:.3} over {sessions}");
    match between {
        Some(between) => format!(
            "{claim} (95 % CI {low:.3}–{high:.3}; the ratio varies by {:.1} % from session to session)",
            between * 100.0
        ),
        None => format!(
            "{claim} ({low:.3}–{high:.3} within them); how much the ratio varies from session to session is not known: that takes {FEWEST_SESSIONS}"
        ),
    }
}

#[cfg(test)]
mod tests;
