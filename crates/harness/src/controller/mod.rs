//! The controller: it takes runs from a server, and starts `showdown` for each. It is a program of its own, so that a server that dies
//! costs no measurement. It calls the server, never the other way round.

mod attempt;
mod child;
mod client;
mod host_cpu;
mod progress;
mod quarantine;
pub mod rules;
pub mod workplace;

use std::thread;
use std::time::{Duration, Instant};

use queue::api::{ClaimAnswer, ClaimCall};
use queue::{NewController, host_identity};

use self::client::CallError;
use self::workplace::Workplace;

/// How long a call waits for work, seconds.
const WAIT_S: u32 = 20;

/// The pause after a call that failed, and between two looks at what else measures here.
const PAUSE: Duration = Duration::from_millis(500);

/// A controller of this machine's server ends when there is none for so long: `showdown serve` starts another one.
const WITHOUT_SERVER: Duration = Duration::from_mins(2);

/// Takes runs until a signal stops it. The run that goes on then is interrupted, and keeps what it has measured.
pub fn run(place: &Workplace) -> anyhow::Result<()> {
    let Some(_lock) = place.folder.lock("controller.lock")? else {
        anyhow::bail!("another controller works for {}: it takes the runs", place.runs.display());
    };
    let mut is_registered = false;
    let mut answered = Instant::now();
    while !place.is_stopped() {
        if !is_registered {
            is_registered = register(place)?;
            if !is_registered {
                if place.is_of_own_server && answered.elapsed() > WITHOUT_SERVER {
                    return Ok(());
                }
                thread::sleep(PAUSE);
                continue;
            }
            answered = Instant::now();
        }
        match claim(place) {
            Ok(answer) => take(place, answer),
            // The server does not answer or has another database, or another start of this controller has called.
            Err(CallError::Refused { .. } | CallError::Unreachable(_)) => {
                is_registered = false;
                thread::sleep(PAUSE);
            }
        }
    }
    Ok(())
}

/// Says that it is there; false where the server does not answer.
fn register(place: &Workplace) -> anyhow::Result<bool> {
    let new = NewController {
        id: place.call.id.clone(),
        boot: place.call.boot.clone(),
        name: format!("controller on {}", place.host),
        host: place.host.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        rules: place.rules.in_a_line(),
    };
    match place.client.post::<_, ()>("controllers", &new) {
        Ok(_) => Ok(true),
        Err(CallError::Unreachable(_)) => Ok(false),
        Err(CallError::Refused { error, .. }) => anyhow::bail!("the server refuses this controller: {error}"),
    }
}

fn claim(place: &Workplace) -> Result<ClaimAnswer, CallError> {
    let busy = host::lock::measuring_now(None);
    let is_busy = busy.is_some();
    let call = ClaimCall { controller: place.call.clone(), busy, wait_s: WAIT_S };
    let answer =
        place.client.post("claims", &call)?.unwrap_or(ClaimAnswer { work: None, quarantined: Vec::new() });
    if is_busy {
        thread::sleep(PAUSE);
    }
    Ok(answer)
}

fn take(place: &Workplace, answer: ClaimAnswer) {
    if let Some(work) = answer.work {
        attempt::execute(place, work);
    } else if answer.quarantined.contains(&host_identity(&place.host)) {
        quarantine::prove_clean(place);
        thread::sleep(PAUSE);
    }
}
