//! Operations outside the mix: what one user does once before the load (`once = "before"`) or after it (`once = "after"`), and
//! what another does beside it again and again (`every = "30s"`). The server does their work, and they are in no figure of the
//! mix. How they are carried out is left to `outside_load`.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::delay::{Delay, DelayKind};
use super::outside_spec::{Outside, OutsideSpec};
use super::parse::{ScenarioError, at, read};
use super::plan::{MOST_OPERATIONS, NextOperation, PassCriteria, UserPlan};
use crate::drivers::RegisteredProtocol;
use crate::drivers::mix::{MixError, OperationMix};
use crate::drivers::protocol::ServerAccess;
use crate::inputs::numbers::put_numbers;

/// The keys of an operation that put it outside the mix.
pub const OUTSIDE_KEYS: &[&str] = &[ONCE, EVERY];
const ONCE: &str = "once";
const EVERY: &str = "every";
/// Keys that say how an operation of the mix is drawn and judged.
const KEYS_OF_MIX: &[&str] = &["weight", "delay", "limit"];

/// What one user outside the mix does.
#[derive(Clone, Debug, PartialEq)]
pub struct OutsideMix {
    /// Its operations.
    pub mix: OperationMix,
    /// All of them in this order, with the delay after each.
    pub plan: UserPlan,
}

impl Outside<OutsideMix> {
    /// What each of them sends to a server of this protocol, which has parsed their mixes.
    pub fn specs(&self, protocol: RegisteredProtocol, access: &ServerAccess) -> Outside<OutsideSpec> {
        self.map(|outside| OutsideSpec {
            protocol: protocol.spec(&outside.mix, access).expect("the protocol has parsed this mix"),
            users: outside.plan.clone(),
        })
    }
}

/// When an operation outside the mix is due.
#[derive(Clone, Copy, Debug, PartialEq)]
enum OutsideTime {
    Before,
    Every(Delay),
    After,
}

/// The operations outside the mix as they are written.
#[derive(Debug, Default)]
pub struct RawOutside<'t>(Vec<(OutsideTime, Spanned<DeValue<'t>>)>);

impl<'t> RawOutside<'t> {
    /// Removes those that are outside the mix from the operations.
    pub fn take(operations: &mut Vec<Spanned<DeValue<'t>>>) -> Result<Self, ScenarioError> {
        let mut outside = Vec::new();
        let mut of_mix = Vec::new();
        for mut operation in operations.drain(..) {
            match time_of(&mut operation)? {
                Some(time) => outside.push((time, operation)),
                None => of_mix.push(operation),
            }
        }
        *operations = of_mix;
        if operations.is_empty()
            && let Some((_, first)) = outside.first()
        {
            let what = "op: no operation is left for the mix: leave once and every out of one at least";
            return Err(at(&first.span(), what));
        }
        if let Some((_, last)) = outside.get(MOST_OPERATIONS) {
            return Err(at(&last.span(), format!("op: at most {MOST_OPERATIONS} are outside the mix")));
        }
        Ok(Self(outside))
    }

    /// Puts numbers in the place of their names.
    pub fn put_numbers(&mut self, numbers: &BTreeMap<String, u64>) {
        for (_, operation) in &mut self.0 {
            put_numbers(operation, numbers);
        }
    }

    /// Parses them for a protocol: `section` and `own` are those of the mix.
    pub fn parse(
        self,
        protocol: RegisteredProtocol,
        section: Option<&Spanned<DeValue<'t>>>,
        own: &DeTable<'t>,
    ) -> Result<Outside<OutsideMix>, MixError> {
        let (mut before, mut after, mut beside) = (Vec::new(), Vec::new(), Vec::new());
        for (time, operation) in self.0 {
            match time {
                OutsideTime::Before => before.push(operation),
                OutsideTime::After => after.push(operation),
                OutsideTime::Every(delay) => beside.push((delay, operation)),
            }
        }
        let parser = OutsideParser { protocol, section, own };
        Ok(Outside {
            before: parser.once(before)?,
            beside: beside
                .into_iter()
                .map(|(delay, operation)| parser.mix(vec![operation], delay))
                .collect::<Result<_, MixError>>()?,
            after: parser.once(after)?,
        })
    }
}

/// What the mixes of users outside have from the mix beside them.
struct OutsideParser<'p, 't> {
    protocol: RegisteredProtocol,
    section: Option<&'p Spanned<DeValue<'t>>>,
    own: &'p DeTable<'t>,
}

impl<'t> OutsideParser<'_, 't> {
    /// One user who does these operations in their order.
    fn mix(&self, operations: Vec<Spanned<DeValue<'t>>>, delay: Delay) -> Result<OutsideMix, MixError> {
        let plan = in_order(operations.len(), delay);
        let mix = self.protocol.parse_mix(self.section.cloned(), Some(self.own.clone()), operations)?;
        Ok(OutsideMix { mix, plan })
    }

    /// The same without delays; none without operations.
    fn once(&self, operations: Vec<Spanned<DeValue<'t>>>) -> Result<Option<OutsideMix>, MixError> {
        if operations.is_empty() {
            return Ok(None);
        }
        self.mix(operations, Delay::NONE).map(Some)
    }
}

/// One user who carries out this many operations in their order.
fn in_order(operations: usize, delay: Delay) -> UserPlan {
    let places = 0..u16::try_from(operations).expect("as many as an operation's number has values");
    UserPlan {
        start: None,
        next: NextOperation::Sequence(places.collect()),
        leave: vec![0.0; operations],
        delays: vec![delay; operations],
        limits: vec![None; operations],
        pass: PassCriteria::default(),
    }
}

/// Removes the key that puts an operation outside the mix; none for one of the mix.
fn time_of(operation: &mut Spanned<DeValue<'_>>) -> Result<Option<OutsideTime>, ScenarioError> {
    let DeValue::Table(table) = operation.get_mut() else { return Ok(None) };
    let time = match (table.remove(ONCE), table.remove(EVERY)) {
        (None, None) => return Ok(None),
        (Some(once), Some(_)) => {
            return Err(at(&once.span(), "once: the operation has every, too: give one of the two"));
        }
        (Some(once), None) => {
            let span = once.span();
            match read::<String>(once)?.as_str() {
                "before" => OutsideTime::Before,
                "after" => OutsideTime::After,
                _ => return Err(at(&span, "once: write \"before\" or \"after\"")),
            }
        }
        (None, Some(every)) => {
            let span = every.span();
            let delay = Delay::parse(DelayKind::Cycle, &read::<String>(every)?, None);
            let delay = delay.map_err(|error| at(&span, format!("every: {error}")))?;
            if delay.mean() <= 0.0 {
                return Err(at(&span, "every: give a length above 0, such as \"30s\""));
            }
            OutsideTime::Every(delay)
        }
    };
    for key in KEYS_OF_MIX {
        if let Some(value) = table.get(*key) {
            let what = format!("{key}: the operation is outside the mix: leave it out");
            return Err(at(&value.span(), what));
        }
    }
    Ok(Some(time))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The operations of this text in three groups, or the mistake with what stands at its place.
    fn outside(operations: &str) -> Result<(usize, Outside<usize>), String> {
        let file = DeTable::parse(operations).expect("TOML");
        let Some(DeValue::Array(list)) = file.into_inner().remove("op").map(Spanned::into_inner) else {
            panic!("no operations");
        };
        let mut list: Vec<_> = list.into_iter().collect();
        let raw = RawOutside::take(&mut list).map_err(|error| match error {
            ScenarioError::At { span, what } => format!("{} | {what}", &operations[span]),
            ScenarioError::Toml(error) => error.to_string(),
        })?;
        let http = RegisteredProtocol::by_name("http").expect("a protocol");
        let outside = raw.parse(http, None, &DeTable::new()).map_err(|error| error.to_string())?;
        Ok((list.len(), outside.map(|mix| mix.plan.operations())))
    }

    #[test]
    fn operations_outside_the_mix_are_grouped_by_when_they_are_due() {
        let text = r#"
op = [
    { name = "join", path = "/join", once = "before" },
    { name = "home", path = "/" },
    { name = "poll", path = "/poll", every = "exp:30s" },
    { name = "open", path = "/open", once = "before" },
    { name = "close", path = "/close", once = "after" },
]"#;
        let (of_mix, outside) = outside(text).expect("operations");
        assert_eq!(of_mix, 1);
        assert_eq!(outside, Outside { before: Some(2), beside: vec![1], after: Some(1) });
    }

    #[test]
    fn a_mistake_has_its_place() {
        for (operation, expected) in [
            (r#"once = "first""#, r#""first" | once: write "before" or "after""#),
            (r#"once = "before", every = "1s""#, r#""before" | once: the operation has every, too"#),
            (r#"every = "0s""#, r#""0s" | every: "#),
            (r#"every = "fast""#, r#""fast" | every: "#),
            (r#"once = "after", weight = 3"#, "3 | weight: the operation is outside the mix"),
        ] {
            let text = format!("op = [{{ path = \"/\" }}, {{ name = \"x\", path = \"/x\", {operation} }}]");
            let mistake = outside(&text).expect_err("a mistake");
            assert!(mistake.starts_with(expected), "{mistake}");
        }
        let alone = outside("op = [{ name = \"x\", path = \"/\", every = \"1s\" }]").expect_err("no mix");
        assert!(alone.contains("no operation is left for the mix"), "{alone}");
    }
}
