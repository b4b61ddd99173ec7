//! Users of HTTP: operations of several requests, with cookies and values that come from replies.
//!
//! | file | what it holds |
//! |---|---|
//! | [`spec`](HttpScenario) | a scenario as plain data |
//! | `parse` | how it is read from the tables of a workload |
//! | `prepare` | its checks, and the steps with numbers for names |
//! | `names` | names, and the numbers in their place |
//! | `statics` | a static of a page |
//! | `request` | a request, ready to be rendered for any user |
//! | `search` over `needle` and `json` | what is looked for in a body, piece by piece |
//! | `sessions` over `cookies` and `browser` | what users keep, in a slab |
//! | [`driver`](HttpUserDriver) | the state machine for the engine |

mod browser;
mod cookies;
mod driver;
mod json;
mod names;
mod needle;
mod parse;
mod prepare;
mod request;
mod search;
mod sessions;
mod spec;
mod statics;

pub use driver::{HttpUserDialogue, HttpUserDriver};
pub use spec::{
    BrowserCache, Capture, Condition, CookieSlots, CountRange, Each, FormFile, FormPart, HttpScenario,
    HttpStep, Pick, Repeat, RepeatWhile, ScenarioOperation, Setting, StepExpected, TextCount, ValueSlot,
};

pub(super) use parse::{USER_KEYS, parse};
