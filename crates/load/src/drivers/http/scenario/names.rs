//! The names of a scenario, and the numbers that take their place: values with their room, flags, counters, and conditions.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use super::sessions::{MOST_FLAGS, Sessions};
use super::spec::{HttpScenario, Setting, ValueSlot};
use crate::drivers::error::OperationError;
use crate::drivers::http::statuses;
use crate::inputs::template::USER_NUMBER;

/// The key of a condition by chance.
pub(super) const CHANCE: &str = "chance";
/// Most values of a list.
const MOST_ITEMS: u16 = 1_024;

/// A condition with numbers for names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum PreparedCondition {
    Flag(u8, bool),
    Value(u16, bool),
    /// A share, 0 to 1.
    Chance(f64),
}

impl PreparedCondition {
    pub fn holds(self, sessions: &Sessions, slot: u32, rng: &mut Pcg64Mcg) -> bool {
        match self {
            Self::Flag(flag, is_set) => sessions.flag(slot, flag) == is_set,
            Self::Value(value, is_there) => sessions.has_value(slot, value) == is_there,
            Self::Chance(share) => rng.random::<f64>() < share,
        }
    }
}

/// The names of a scenario.
pub(super) struct Names {
    pub values: Vec<String>,
    pub slots: Vec<ValueSlot>,
    pub flags: Vec<String>,
    pub counters: Vec<String>,
}

impl Names {
    pub fn value(&self, name: &str) -> Option<u16> {
        self.values.iter().position(|known| known == name).and_then(|at| u16::try_from(at).ok())
    }

    pub fn condition(&self, key: &str, name: &str, is: bool) -> Result<PreparedCondition, OperationError> {
        if let Some(value) = self.value(name) {
            return Ok(PreparedCondition::Value(value, is));
        }
        let flag = self.flags.iter().position(|known| known == name).and_then(|at| u8::try_from(at).ok());
        let flag = flag.ok_or_else(|| {
            OperationError(format!(
                "{key}: nothing sets {name:?}: set it in a step, or capture a value of this name"
            ))
        })?;
        Ok(PreparedCondition::Flag(flag, is))
    }
}

/// The names of a scenario, or what is wrong with one.
pub(super) fn names_of(spec: &HttpScenario) -> Result<Names, OperationError> {
    let steps = || spec.operations.iter().flat_map(|operation| &operation.steps);
    let is_word = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    for name in spec.values.keys() {
        if !is_word(name) || [USER_NUMBER, CHANCE].contains(&name.as_str()) {
            let what = format!(
                "values: {name:?} is no name of a value: use letters, digits and _, and not user or chance"
            );
            return Err(OperationError(what));
        }
    }
    if let Some((name, _)) = spec.values.iter().find(|(_, slot)| slot.bytes == 0 || slot.bytes > 16_384) {
        return Err(OperationError(format!("values: {name}: give it from 1 to 16,384 bytes")));
    }
    if let Some((name, _)) = spec.values.iter().find(|(_, slot)| slot.list > MOST_ITEMS) {
        return Err(OperationError(format!("values: {name}: give its list at most {MOST_ITEMS} values")));
    }
    if !(0.0..=100.0).contains(&spec.cache.warm) {
        return Err(OperationError(
            "cache: warm: give a share of the sessions from 0 to 100 per cent".to_owned(),
        ));
    }
    if spec.cookies.bytes == 0 || spec.cookies.bytes > 4_096 || spec.cookies.slots > 64 {
        let what = "cookies: give at most 64 slots of 1 to 4,096 bytes";
        return Err(OperationError(what.to_owned()));
    }
    let flags: BTreeSet<&String> = steps()
        .flat_map(|step| &step.set)
        .filter(|(_, setting)| matches!(setting, Setting::Flag(_)))
        .map(|(name, _)| name)
        .collect();
    if flags.len() > MOST_FLAGS {
        return Err(OperationError(format!("set: {} flags: at most {MOST_FLAGS}", flags.len())));
    }
    let counters: BTreeSet<&String> = steps().filter_map(|step| step.count.as_ref()).collect();
    Ok(Names {
        values: spec.values.keys().cloned().collect(),
        slots: spec.values.values().copied().collect(),
        flags: flags.into_iter().cloned().collect(),
        counters: counters.into_iter().cloned().collect(),
    })
}

/// The counters of a scenario: those of all HTTP loads, and its own. Lists of one content are kept once for the life of the
/// program, as those of other protocols are.
pub(super) fn interned(own: &[String]) -> &'static [&'static str] {
    static KNOWN: Mutex<Vec<&'static [&'static str]>> = Mutex::new(Vec::new());
    let wanted = || statuses::COUNTERS.iter().copied().chain(own.iter().map(String::as_str));
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(same) = known.iter().find(|list| list.iter().copied().eq(wanted())) {
        return same;
    }
    let list = wanted().map(|name| &*Box::leak(name.to_owned().into_boxed_str())).collect::<Vec<_>>();
    let list: &'static [&'static str] = Box::leak(list.into_boxed_slice());
    known.push(list);
    list
}
