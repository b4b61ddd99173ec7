//! Studies of scripted servers: what a study asks, how it ends, and what it says.

use archive::model::{ExplainedServer, RunLength, SuspectWord};

use rand::SeedableRng;
use rand_pcg::Pcg64;
use stats::confidence::{Confidence, ConfidenceInterval};
use stats::ratio::IntervalMethod;

use super::*;
use crate::perturbable_loop::Perturbation;
use crate::scripted::Scripted;

fn lengths() -> PlannedStudy {
    bakeoff::study(RunLength::Default)
}

/// The whole study of a scripted server, of default length.
pub(crate) fn study(server: &mut Scripted) -> Result<ExplainedServer, LoopError> {
    study_of(server, &lengths())
}

fn study_of(server: &mut Scripted, lengths: &PlannedStudy) -> Result<ExplainedServer, LoopError> {
    let slices = plain_slices(server, lengths, &mut |_| ())?;
    let watched = server.watched.clone();
    Ok(conclude(server, slices, &watched, lengths, &mut |_| ()))
}

fn studied(server: &mut Scripted) -> ExplainedServer {
    study(server).expect("plain slices")
}

#[test]
fn a_saturated_server_is_limited_by_its_cpus() {
    let mut server = Scripted::new().busy([0.98, 0.97]).follows([0.95, 0.0, 0.02]);
    let explained = studied(&mut server);
    let first = &explained.suspects[0];
    assert_eq!((first.rule.as_str(), first.word), ("server-cpu", SuspectWord::Limits), "{first:#?}");
    assert_eq!(first.tried.as_deref(), Some("burn_server_cpus"));
    assert!(first.evidence.iter().any(|figure| figure.name == "server_cpus.busy"));
    assert!(
        explained.sentence.starts_with("nginx is limited by server CPUs: the server's CPUs were busy 98 %"),
        "{}",
        explained.sentence
    );
    let elasticity = explained.perturbations[0].elasticity.expect("enough pairs");
    assert!((elasticity.value - 0.95).abs() < 0.1 && elasticity.low > 0.5, "{elasticity:?}");
    assert!((explained.closed_loop.loop_share - 1.0).abs() < 0.01, "{:?}", explained.closed_loop);
}

#[test]
fn the_words_of_a_limit_need_rivals_that_are_cleared() {
    let mut server = Scripted::new().busy([0.98, 0.97]).follows([0.8, 0.0, 0.7]);
    let explained = studied(&mut server);
    let words: Vec<_> =
        explained.suspects.iter().map(|suspect| (suspect.resource.as_str(), suspect.word)).collect();
    assert_eq!(words, [("server_cpu", SuspectWord::Shared), ("loop", SuspectWord::Shared)]);
    assert_eq!(explained.sentence, "nginx is limited by server CPUs and number of connections together");
}

#[test]
fn suspects_of_one_experiment_are_one_limit() {
    let mut server =
        Scripted::new().with(&[("programs.others", 0.6)]).busy([0.98, 0.97]).follows([0.8, 0.0, 0.7]);
    server.server_cores = 1.3;
    let explained = studied(&mut server);
    let rules: Vec<_> = explained.suspects.iter().map(|suspect| suspect.rule.as_str()).collect();
    assert_eq!(rules, ["other-program", "server-cpu", "experiment"]);
    assert_eq!(explained.sentence, "nginx is limited by another program and number of connections together");
    let sentence = &explained.suspects[1].sentence;
    assert!(
        sentence.starts_with("server CPUs: the server's CPUs were busy 98 % of the time; "),
        "{sentence}"
    );
    assert!(sentence.contains("; throughput follows it (elasticity 0.8"), "{sentence}");
}

#[test]
fn a_busy_cpu_that_throughput_does_not_follow_is_cleared() {
    let mut server = Scripted::new().busy([0.97, 0.96]);
    let explained = studied(&mut server);
    assert_eq!(explained.suspects[0].word, SuspectWord::Cleared, "{:#?}", explained.suspects);
    assert!(
        explained.sentence.starts_with("nothing that was examined limits nginx"),
        "{}",
        explained.sentence
    );
}

#[test]
fn wide_intervals_stay_suspected() {
    let mut server = Scripted::new().busy([0.98, 0.97]).follows([0.9, 0.0, 0.0]);
    server.noise = 0.4;
    let explained = studied(&mut server);
    assert_eq!(explained.suspects[0].word, SuspectWord::Suspected, "{:#?}", explained.suspects[0]);
    assert!(explained.sentence.starts_with("what limits nginx is not certain"), "{}", explained.sentence);
    assert_eq!(explained.perturbations[0].pairs.len(), 12, "all looks were needed");
}

#[test]
fn what_limits_one_start_of_a_server_and_not_the_others_does_not_limit_it() {
    let mut server = Scripted::new().busy([0.98, 0.97]).follows([1.0, 0.0, 0.0]);
    server.noise = 0.002;
    assert_eq!(studied(&mut server).suspects[0].word, SuspectWord::Limits);
    assert_eq!(server.restarts, 2, "three starts in all");
    let mut of_one_start = Scripted::new().busy([0.98, 0.97]).follows([1.0, 0.0, 0.0]);
    (of_one_start.noise, of_one_start.elasticities_of_restarts) = (0.002, Some([0.1, 0.0, 0.0]));
    let explained = studied(&mut of_one_start);
    assert_ne!(explained.suspects[0].word, SuspectWord::Limits, "{:#?}", explained.suspects[0]);
}

#[test]
fn a_server_that_nothing_seems_to_limit_is_not_started_again() {
    let mut server = Scripted::new().follows([0.0, 0.0, 0.0]);
    server.noise = 0.002;
    studied(&mut server);
    assert_eq!(server.restarts, 0);
}

#[test]
fn a_decided_experiment_is_not_continued() {
    let mut server = Scripted::new().busy([0.98, 0.97]).follows([1.0, 0.0, 0.0]);
    server.noise = 0.002;
    let explained = studied(&mut server);
    let pairs: Vec<_> = explained.perturbations.iter().map(|tried| tried.pairs.len()).collect();
    assert_eq!(pairs, [4, 4, 4, 8], "half of the dose of what limits has twice the pairs");
    assert_eq!(server.asked.len(), 5 + (3 * 4 + 8) * 2);
    assert!(
        server.asked.len() as u32
            <= (longest_plain(&lengths()) + longest_experiments(&lengths())).as_secs() as u32
    );
}

#[test]
fn pairs_alternate_their_order_and_plain_slices_come_first() {
    let mut server = Scripted::new();
    let explained = studied(&mut server);
    assert!(server.asked[..5].iter().all(Option::is_none));
    for tried in &explained.perturbations {
        let orders: Vec<bool> = tried.pairs.iter().map(|pair| pair.plain_first).collect();
        assert!(orders.windows(2).all(|two| two[0] != two[1]), "{orders:?}");
    }
    let is_plain =
        |asked: &Option<Perturbation>| matches!(asked, None | Some(Perturbation::Connections { share: 1.0 }));
    assert!(server.asked[5..].chunks(2).all(|pair| is_plain(&pair[0]) != is_plain(&pair[1])));
}

#[test]
fn fewer_connections_are_compared_with_as_new_ones() {
    let mut server = Scripted::new().follows([0.1, 0.0, 1.0]);
    server.facts.connections = 2;
    studied(&mut server);
    let is_new = |asked: &Option<Perturbation>| matches!(asked, Some(Perturbation::Connections { .. }));
    let pairs: Vec<_> = server.asked[5..].chunks(2).filter(|pair| pair.iter().any(is_new)).collect();
    assert!(!pairs.is_empty() && pairs.iter().all(|pair| pair.iter().all(is_new)), "{pairs:?}");
}

#[test]
fn a_server_that_ends_leaves_what_was_found() {
    let mut server = Scripted::new().busy([0.98, 0.97]).follows([1.0, 0.0, 0.0]);
    server.ends_after = 8;
    let explained = studied(&mut server);
    assert_eq!(explained.suspects[0].word, SuspectWord::Suspected);
    assert!(
        explained.unknown.iter().any(|unknown| unknown.why.contains("killed by signal 9")),
        "{explained:#?}"
    );
    server = Scripted::new();
    server.ends_after = 2;
    let explained = studied(&mut server);
    assert_eq!((explained.closed_loop.slices, explained.perturbations.len()), (2, 0));
    server.ends_after = 0;
    assert!(matches!(study(&mut server), Err(LoopError::ServerEnded(_))));
}

#[test]
fn what_cannot_be_tried_is_said() {
    let mut server = Scripted::new().busy([0.98, 0.97]);
    server.facts.can_be_probed = false;
    server.facts.connections = 1;
    server.facts.is_root = false;
    let explained = studied(&mut server);
    assert!(explained.perturbations.is_empty());
    let whys: Vec<&str> = explained.unknown.iter().map(|unknown| unknown.why.as_str()).collect();
    for expected in ["no burner", "cannot have fewer", "needs root"] {
        assert!(whys.iter().any(|why| why.contains(expected)), "{expected}: {whys:#?}");
    }
    server = Scripted::new();
    server.facts.client_cpus = Some("1-2".parse().expect("CPUs"));
    let explained = studied(&mut server);
    assert!(
        explained.unknown.iter().any(|unknown| unknown.why.contains("shares CPUs")),
        "{:#?}",
        explained.unknown
    );
}

#[test]
fn slices_of_slow_operations_are_longer() {
    // A scripted server does 1,000 operations a second.
    for (slice_ms, longest_ms) in [(250, 250), (50, 100), (1, 8)] {
        let slice = Duration::from_millis(slice_ms);
        let mut server = Scripted::new();
        study_of(&mut server, &PlannedStudy { slice, ..lengths() }).expect("plain slices");
        let longest = server.lengths.iter().max().expect("slices").as_secs_f64();
        assert!((longest * 1e3 / f64::from(longest_ms) - 1.0).abs() < 0.1, "{slice_ms} ms: {longest} s");
        assert_eq!(server.lengths[0], slice, "plain slices are as planned");
    }
}

#[test]
fn slices_that_scatter_are_longer() {
    for (noise, times) in [(0.02, 1.0), (0.4, 8.0)] {
        let mut server = Scripted::new();
        server.noise = noise;
        study_of(&mut server, &lengths()).expect("plain slices");
        let longest = server.lengths.iter().max().expect("slices");
        assert_eq!(*longest, lengths().slice.mul_f64(times), "{noise}");
    }
}

#[test]
fn slices_of_pairs_that_scatter_get_longer() {
    let found = |half_width: f64, pairs| ElasticityEstimate {
        value: 0.6,
        interval: ConfidenceInterval { low: 0.6 - half_width, high: 0.6 + half_width },
        pairs,
        confidence: Confidence::P95,
        method: IntervalMethod::StudentT,
    };
    let times = [(0.25, 6), (0.5, 6), (0.75, 6), (2.0, 6), (2.0, 18)];
    let times = times.map(|(half_width, pairs)| times_longer(&found(half_width, pairs), 18));
    assert_eq!(times, [1.0, 1.5, 4.0, 4.0, 1.0]);
}

#[test]
fn what_throughput_follows_in_part_limits_perhaps_not_alone() {
    let mut server = Scripted::new().busy([0.98, 0.97]).follows([0.4, 0.0, 0.0]);
    server.noise = 0.002;
    let explained = studied(&mut server);
    assert_eq!(explained.suspects[0].word, SuspectWord::Shared);
    assert!(explained.sentence.contains("and perhaps by something else as well"), "{}", explained.sentence);
}

#[test]
fn a_study_that_takes_too_long_says_so() {
    // A study of no length is over before its first pair.
    let lengths = PlannedStudy { slice: Duration::ZERO, ..lengths() };
    let mut server = Scripted::new();
    server.shortest = Duration::from_secs(1);
    let explained = study_of(&mut server, &lengths).expect("plain slices");
    assert!(explained.perturbations.iter().all(|tried| tried.pairs.is_empty()));
    assert!(
        explained.unknown.iter().any(|unknown| unknown.why.contains("before their timeout")),
        "{explained:#?}"
    );
}

#[test]
fn a_server_that_does_not_answer_is_said() {
    let mut server = Scripted::new();
    server.statistics_problem = Some("no answer within 2 s".to_owned());
    let explained = studied(&mut server);
    let unknown = explained.unknown.iter().find(|unknown| unknown.what == "what the server says of itself");
    assert_eq!(unknown.map(|unknown| unknown.why.as_str()), Some("no answer within 2 s"));
}

#[test]
fn a_burner_that_gets_no_time_decides_nothing() {
    let mut server = Scripted::new().busy([0.98, 0.97]).follows([1.0, 0.0, 0.0]);
    server.burner_gets = 0.01;
    let explained = studied(&mut server);
    let burned = &explained.perturbations[0];
    assert!(burned.elasticity.is_none() && burned.sentence.contains("hardly changed"), "{burned:#?}");
    assert_eq!(explained.suspects[0].word, SuspectWord::Suspected);
}

#[test]
fn few_connections_have_one_fewer_at_least() {
    let mut server = Scripted::new().follows([0.1, 0.0, 1.0]);
    server.facts.connections = 2;
    let explained = studied(&mut server);
    assert!(server.asked.contains(&Some(Perturbation::Connections { share: 0.5 })), "{:?}", server.asked);
    assert_eq!(explained.suspects[0].rule, "few-connections");
    assert_eq!(explained.suspects[0].word, SuspectWord::Limits);
}

#[test]
fn an_undisturbed_server_has_every_figure_of_the_table_that_it_can_have() {
    let explained = studied(&mut Scripted::new());
    let known = |id: &str| {
        let row = explained.resources.iter().find(|row| row.id == id).expect("a row");
        row.demand.is_some() || row.utilisation.is_some() || row.saturation.is_some()
    };
    for id in
        ["client", "loop", "server_cpu", "one_core", "one_thread", "locks", "accept_queue", "disk", "network"]
    {
        assert!(known(id), "{id}");
    }
    for row in &explained.resources {
        let figures = [&row.demand, &row.utilisation, &row.saturation];
        assert!(
            figures.iter().any(|figure| figure.is_some()) || row.missing.is_some(),
            "{} says nothing",
            row.id
        );
        assert!(
            figures.into_iter().flatten().all(|figure| !figure.source.is_empty() && !figure.about.is_empty())
        );
    }
    assert!(explained.unknown.is_empty(), "{:#?}", explained.unknown);
}

/// The share of 200 studies of a saturated server, with normal noise of 2 % in each slice, of which something holds.
fn share(elasticities: [f64; 3], holds: impl Fn(&ExplainedServer) -> bool) -> f64 {
    share_with_slack(elasticities, 1.0, holds)
}

/// The same of a server that needs this share of its CPUs.
fn share_with_slack(
    elasticities: [f64; 3],
    needs_cpus: f64,
    holds: impl Fn(&ExplainedServer) -> bool,
) -> f64 {
    let studies = 200;
    let count = (0..studies)
        .filter(|seed| {
            let mut server = Scripted::new().busy([0.98, 0.97]).follows(elasticities);
            server.random = Some(Pcg64::seed_from_u64(*seed));
            server.needs_cpus = needs_cpus;
            holds(&studied(&mut server))
        })
        .count();
    count as f64 / studies as f64
}

fn word_of(explained: &ExplainedServer, resource: &str) -> Option<SuspectWord> {
    explained.suspects.iter().find(|suspect| suspect.resource == resource).map(|suspect| suspect.word)
}

#[test]
fn a_limit_is_found_in_nearly_every_study() {
    let found = share([1.0, 0.0, 0.0], |explained| explained.suspects[0].word == SuspectWord::Limits);
    assert!(found >= 0.9, "limits in {found} of the studies");
    let first = share([1.0, 0.0, 0.0], |explained| explained.suspects[0].resource == "server_cpu");
    assert!(first >= 0.99, "named first in {first} of the studies");
}

#[test]
fn what_does_not_limit_is_hardly_ever_called_a_limit() {
    let wrong = share([0.0; 3], |explained| {
        explained
            .suspects
            .iter()
            .any(|suspect| [SuspectWord::Limits, SuspectWord::Shared].contains(&suspect.word))
    });
    // 5 % by the level of the intervals at most, plus two and a half standard errors.
    assert!(wrong <= 0.09, "{wrong} of the studies have a limit that is none");
    let wrong =
        share([0.4, 0.0, 0.0], |explained| word_of(explained, "server_cpu") == Some(SuspectWord::Limits));
    assert!(wrong <= 0.09, "an elasticity of 0.4 limits in {wrong} of the studies");
}

#[test]
fn a_cpu_with_slack_is_not_called_the_limit() {
    for needs_cpus in [0.90, 0.93, 0.95, 0.97] {
        let wrong = share_with_slack([1.0, 0.0, 0.0], needs_cpus, |explained| {
            word_of(explained, "server_cpu") == Some(SuspectWord::Limits)
        });
        assert!(wrong <= 0.05, "CPUs used to {needs_cpus} limit in {wrong} of the studies");
    }
    let mut server = Scripted::new().busy([0.98, 0.97]).follows([1.0, 0.0, 0.0]);
    (server.needs_cpus, server.noise) = (0.93, 0.005);
    let explained = studied(&mut server);
    let suspect = explained.suspects.iter().find(|suspect| suspect.resource == "server_cpu").expect("named");
    assert_eq!(suspect.word, SuspectWord::Suspected, "{}", suspect.sentence);
    assert!(suspect.sentence.contains("it has slack"), "{}", suspect.sentence);
    let half = explained.perturbations.iter().find(|tried| tried.id == "burn_server_cpus_half");
    assert!(half.expect("half of the dose").title.starts_with("10 % less of the server's CPUs"));
}

#[test]
fn suspects_only_has_no_limit() {
    let mut server = Scripted::new().with(&[("tcp.listen_overflows", 48.0)]);
    let facts = server.facts.clone();
    let reading = server.slice(None, Duration::from_secs(1)).expect("a slice");
    let found = suspects_only(&facts, &[reading]);
    assert_eq!(found.suspects[0].rule, "accept-queue");
    assert!(found.suspects.iter().all(|suspect| suspect.word == SuspectWord::Suspected));
    assert!(found.perturbations.is_empty() && server.asked.len() == 1);
}
