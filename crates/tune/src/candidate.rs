//! Candidates: the levels of tunings that fit a server and a machine, the most promising first, and the tunings that are not tried with
//! the reason. What is measured of them is left to the search.

use std::collections::BTreeMap;

use host::CpuSet;
use workload::definition::{
    ALLOCATOR, BINARY, CERTIFICATE, INSTANCES, ISOLATION, Knob, KnobEffect, KnobType, MALLOC_ARENAS,
    RESUMPTION, ServerDefinition, TypedValue,
};
use workload::{TemplateVariables, is_kernel_setting};

use crate::applicable::why_not_fit;
use crate::condition::{Condition, written};
use crate::lab::Settings;
use crate::tuning::{Durability, Level, Need, Scope, Security, Tuning};

/// A level of a tuning with its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The tuning.
    pub tuning: Tuning,
    /// What is set.
    pub settings: Settings,
    /// Lines to take home.
    pub take_home: Vec<String>,
    /// A text that the effective configuration has when it took effect, a template with the server's knobs.
    pub verify: Option<String>,
    /// Why it is tried.
    pub reason: String,
}

impl Candidate {
    /// Its settings as a variant is written.
    pub fn name(&self) -> String {
        let settings = self.settings.iter().map(|(name, value)| format!("{name}={value}"));
        settings.collect::<Vec<_>>().join(",")
    }

    /// Whether servers run one at a time with it.
    pub fn runs_alone(&self) -> bool {
        one_at_a_time(&self.settings)
    }
}

/// Whether servers run one at a time with these: something of the kernel is set whose effects last.
pub fn one_at_a_time(settings: &Settings) -> bool {
    let lasts = |name: &str| name.parse().is_ok_and(|knob| !host::knobs::takes_effect_at_once(&knob));
    settings.keys().any(|name| is_kernel_setting(name) && lasts(name))
}

/// A tuning that is not tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotTried {
    /// Its name.
    pub tuning: String,
    /// What it does.
    pub title: String,
    /// Why.
    pub why: String,
}

/// What is known of a server and its machine.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Situation<'a> {
    /// The server.
    pub server: &'a ServerDefinition,
    /// Its knobs and the settings of the kernel as they are now, by name.
    pub values: BTreeMap<String, String>,
    /// Figures of `explain`.
    pub figures: BTreeMap<String, f64>,
    /// CPUs of the server.
    pub cpus: usize,
    /// Their mask in hexadecimal digits; none where it needs more than 32 bits, or they are not known.
    pub cpu_mask: Option<String>,
    /// Memory of the machine, MB.
    pub memory_mb: u64,
    /// NUMA nodes of the machine.
    pub nodes: usize,
    /// Whether its huge pages have 2 MB, and none is reserved.
    pub can_reserve_huge_pages: bool,
    /// Whether this program runs as root.
    pub is_root: bool,
    /// Whether tunings that weaken durability may be tried.
    pub may_weaken_durability: bool,
    /// Whether those that weaken security may be.
    pub may_weaken_security: bool,
    /// Kernel settings that the user allows beside the usual ones of comparisons.
    pub allowed_kernel: Vec<String>,
}

/// The mask of CPUs, as files of the kernel take it.
pub fn cpu_mask(cpus: &CpuSet) -> Option<String> {
    let bits = cpus.iter().try_fold(0_u32, |mask, cpu| Some(mask | 1_u32.checked_shl(cpu as u32)?))?;
    (bits > 0).then(|| format!("{bits:x}"))
}

/// How much speaks for a tuning, the most first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Evidence {
    /// Its conditions are met.
    Holds,
    /// It has none.
    NotNeeded,
    /// A figure is not known.
    NotKnown,
}

/// The candidates of a situation, the most promising first, and the tunings that are not tried.
pub fn choose(tunings: &[Tuning], situation: &Situation<'_>) -> (Vec<Candidate>, Vec<NotTried>) {
    let (mut ranked, mut not_tried) = (Vec::new(), Vec::new());
    for tuning in tunings {
        let examined = match why_not_fit(tuning, situation.server) {
            None => examine(tuning, situation),
            Some(why) if tuning.servers.contains(&situation.server.name) => Err(why),
            // What is for other servers is no news.
            Some(_) => continue,
        };
        match examined {
            Ok((evidence, reason, levels)) => {
                let published = tuning.expected.as_ref().map_or(1.0, |expected| expected.high);
                for LevelHere { settings, take_home, verify } in levels {
                    let (tuning, reason) = (tuning.clone(), reason.clone());
                    let candidate = Candidate { tuning, settings, take_home, verify, reason };
                    ranked.push((evidence, published, candidate));
                }
            }
            Err(why) => {
                let (tuning, title) = (tuning.id.clone(), tuning.title.clone());
                not_tried.push(NotTried { tuning, title, why });
            }
        }
    }
    // Stable: the levels of a tuning keep their order.
    ranked.sort_by(|(a, high_a, one), (b, high_b, two)| {
        a.cmp(b).then(high_b.total_cmp(high_a)).then(one.tuning.scope.cmp(&two.tuning.scope))
    });
    (ranked.into_iter().map(|(.., candidate)| candidate).collect(), not_tried)
}

/// A level with its values on this machine.
struct LevelHere {
    settings: Settings,
    take_home: Vec<String>,
    verify: Option<String>,
}

fn examine(tuning: &Tuning, situation: &Situation<'_>) -> Result<(Evidence, String, Vec<LevelHere>), String> {
    if let Some(why) = why_not_allowed(tuning, situation) {
        return Err(why);
    }
    if let Some(need) = tuning.needs.iter().find(|need| !has(**need, situation)) {
        return Err(format!("it needs {need}"));
    }
    let is_so = |(name, value): &(&String, &String)| situation.values.get(*name) == Some(*value);
    if let Some((name, value)) = tuning.only_with.iter().find(|one| !is_so(one)) {
        let server = &situation.server.name;
        return Err(format!("it changes something only with {name}={value}: tune {server}:{name}={value}"));
    }
    let value = |condition: &Condition| situation.figures.get(&condition.figure).copied();
    if let Some((against, value)) = tuning
        .unless
        .iter()
        .filter_map(|condition| Some((condition, value(condition)?)))
        .find(|(condition, value)| condition.holds(*value))
    {
        return Err(format!("{}: it is {}", against.in_words(), written(value)));
    }
    let mut known = Vec::new();
    let mut evidence = if tuning.when.is_empty() { Evidence::NotNeeded } else { Evidence::Holds };
    for condition in &tuning.when {
        match value(condition) {
            Some(value) if !condition.holds(value) => {
                return Err(format!(
                    "nothing calls for it: {} is {}, and it is tried where {}",
                    condition.figure,
                    written(value),
                    condition.in_words()
                ));
            }
            Some(value) => known.push(format!("{} is {}", condition.figure, written(value))),
            None => evidence = Evidence::NotKnown,
        }
    }
    let reason = match evidence {
        Evidence::Holds => known.join(", "),
        Evidence::NotNeeded => "worth a try anywhere".to_owned(),
        Evidence::NotKnown => "the figure that would call for it is not known".to_owned(),
    };
    let levels = levels(tuning, situation)?;
    if levels.is_empty() {
        return Err("it is so already".to_owned());
    }
    Ok((evidence, reason, levels))
}

fn why_not_allowed(tuning: &Tuning, situation: &Situation<'_>) -> Option<String> {
    if tuning.scope == Scope::Boot {
        return Some("it needs a restart of the machine".to_owned());
    }
    if tuning.durability != Durability::None && !situation.may_weaken_durability {
        return Some(format!("it loses {}: pass --allow durability to try it", tuning.durability));
    }
    if tuning.security == Security::Weaker && !situation.may_weaken_security {
        return Some("it weakens security: pass --allow security to try it".to_owned());
    }
    let names = tuning.levels.iter().flat_map(|level| level.set.keys());
    let unusual = names.filter(|name| is_kernel_setting(name)).find(|name| {
        let is_usual = name.parse().is_ok_and(|knob| host::knobs::usual_purpose(&knob).is_some());
        !is_usual && !situation.allowed_kernel.contains(name)
    })?;
    Some(format!("{unusual} is not one of the usual settings: pass --allow-kernel {unusual} to try it"))
}

fn has(need: Need, situation: &Situation<'_>) -> bool {
    match need {
        Need::Root => situation.is_root,
        Need::SeveralCpus => situation.cpus > 1,
        Need::SeveralNodes => situation.nodes > 1,
        Need::HugePages => situation.can_reserve_huge_pages,
        Need::CpuMask => situation.cpu_mask.is_some(),
        Need::Reboot => false,
    }
}

/// The levels that change something, with their values. An error says what is wrong with one.
fn levels(tuning: &Tuning, situation: &Situation<'_>) -> Result<Vec<LevelHere>, String> {
    let mut variables = TemplateVariables::default();
    variables.set("cpus", situation.cpus);
    variables.set("cpu_mask", situation.cpu_mask.as_deref().unwrap_or_default());
    variables.set("memory_mb", situation.memory_mb);
    let mut found: Vec<LevelHere> = Vec::new();
    let mut why_none = None;
    for Level { set, take_home, verify } in &tuning.levels {
        let mut settings = Settings::new();
        let mut missing = None;
        for (name, template) in set {
            let value = variables.render(template).map_err(|error| format!("{name}: {error}"))?;
            let value = if is_kernel_setting(name) {
                if !situation.values.contains_key(name) {
                    missing = Some(format!("this kernel has no {name}"));
                }
                value
            } else {
                let knob = situation.server.knob(name).map_err(|error| error.to_string())?;
                knob.parse(&value).map_err(|error| format!("{name}: {error}"))?.to_string()
            };
            settings.insert(name.clone(), value);
        }
        let is_so = |(name, value): (&String, &String)| situation.values.get(name) == Some(value);
        let take_home: Result<Vec<String>, String> = take_home
            .iter()
            .map(|line| variables.render(line).map_err(|error| format!("take_home: {error}")))
            .collect();
        if missing.is_none()
            && !settings.iter().all(is_so)
            && found.iter().all(|other| other.settings != settings)
        {
            found.push(LevelHere { settings, take_home: take_home?, verify: verify.clone() });
        }
        why_none = why_none.or(missing);
    }
    match why_none {
        Some(why) if found.is_empty() => Err(why),
        _ => Ok(found),
    }
}

/// A knob as a tuning that tries these values.
fn as_tuning(server: &str, knob: &Knob, others: Vec<String>) -> Tuning {
    let name = &knob.name;
    let mut levels = Vec::new();
    for value in others {
        let take_home = vec![format!("{name} = {value}")];
        levels.push(Level { take_home, set: [(name.clone(), value)].into(), verify: None });
    }
    Tuning {
        id: format!("knob-{name}"),
        title: format!("Another {name}"),
        about: knob.about.clone(),
        servers: vec![server.to_owned()],
        only_with: BTreeMap::new(),
        versions: String::new(),
        scope: Scope::Server,
        needs: Vec::new(),
        when: Vec::new(),
        unless: Vec::new(),
        avoid: "showdown does not know what this knob costs".to_owned(),
        durability: match knob.changes {
            Some(KnobEffect::Durability) => Durability::OsCrash,
            _ => Durability::None,
        },
        security: Security::None,
        mechanism: None,
        expected: None,
        conflicts: Vec::new(),
        undo: "restart with the old value".to_owned(),
        source: if knob.source.is_empty() { "workload.toml".to_owned() } else { knob.source.clone() },
        levels,
    }
}

/// The knobs of a user's own server as tunings, where no tuning names it: a switch the other way, a number halved and doubled,
/// another choice. Not one that changes the work: the faster server would be the one that does less.
pub fn knobs_as_tunings(server: &ServerDefinition, values: &BTreeMap<String, String>) -> Vec<Tuning> {
    const ADDED: [&str; 7] =
        [INSTANCES, ISOLATION, ALLOCATOR, MALLOC_ARENAS, BINARY, CERTIFICATE, RESUMPTION];
    let knobs = server.knobs.iter().filter(|knob| knob.changes != Some(KnobEffect::Work));
    let knobs = knobs.filter(|knob| !ADDED.contains(&knob.name.as_str()));
    knobs
        .filter_map(|knob| {
            let now = values.get(&knob.name)?;
            let others = match (&knob.knob_type, knob.parse(now).ok()?) {
                (KnobType::Switch, TypedValue::Switch(on)) => vec![if on { "off" } else { "on" }.to_owned()],
                (KnobType::Integer { from, to }, TypedValue::Integer(number)) => {
                    let tries = [number / 2, number.saturating_mul(2)].map(|other| other.clamp(*from, *to));
                    let mut tries: Vec<i64> = tries.into_iter().filter(|other| *other != number).collect();
                    tries.dedup();
                    tries.iter().map(ToString::to_string).collect()
                }
                (KnobType::Choice(words), _) => {
                    words.iter().filter(|word| *word != now).take(3).cloned().collect()
                }
                _ => return None,
            };
            (!others.is_empty()).then(|| as_tuning(&server.name, knob, others))
        })
        .collect()
}

#[cfg(test)]
mod tests;
