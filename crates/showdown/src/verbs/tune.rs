//! `showdown tune`: try tunings on a server, and keep what fresh trials confirm; or on two, and then compare the best of both.
//! One search is in [`one`], the comparison of the tuned servers in [`both`].

mod args;
mod both;
mod one;

use tune::{Tuning, TuningCatalogue, why_not_fit};

pub use self::args::TuneArgs;
use self::one::TunableServer;
use crate::exit::{CommandStatus, usage};
use crate::interrupt;
use crate::print::note;

/// Runs the verb.
pub fn run(args: &TuneArgs) -> anyhow::Result<CommandStatus> {
    let catalogue = TuningCatalogue::with_own(&args.rules).map_err(usage)?;
    if let Some(own) = tune::own_folder() {
        note(&format!("using the tunings of ./{}", own.display()));
    }
    let tunings = wanted(&catalogue, &args.only)?;
    // A mistake in the second server must not cost the time of the first.
    let servers: Vec<TunableServer<'_>> =
        args.servers.iter().map(|server| one::check(args, server)).collect::<anyhow::Result<_>>()?;
    if !args.only.is_empty() {
        each_fits(&tunings, &servers)?;
    }
    match &servers[..] {
        [first, second] => both::tune_both(args, &tunings, [first, second]),
        servers => {
            let tuned = one::tune(args, &tunings, &servers[0], 1.0, &interrupt::context()?)?;
            tuned.answer(args.format)?;
            tuned.ended()
        }
    }
}

/// Checks that each of the tunings that the user has named can be tried on one of the servers.
fn each_fits(tunings: &[Tuning], servers: &[TunableServer<'_>]) -> anyhow::Result<()> {
    for tuning in tunings {
        let whys: Vec<String> =
            servers.iter().filter_map(|server| why_not_fit(tuning, &server.definition)).collect();
        if whys.len() == servers.len() {
            let (id, why) = (&tuning.id, &whys[0]);
            return Err(usage(format!(
                "{id} cannot be tried: {why}: see `showdown tunings --server {}`",
                servers[0].definition.name
            )));
        }
    }
    Ok(())
}

/// The tunings that the user wants, all by default.
fn wanted(catalogue: &TuningCatalogue, only: &[String]) -> anyhow::Result<Vec<Tuning>> {
    let all = catalogue.all();
    if let Some(unknown) = only.iter().find(|id| all.iter().all(|tuning| tuning.id != **id)) {
        return Err(usage(format!("there is no tuning {unknown:?}: see `showdown tunings`")));
    }
    let is_wanted = |tuning: &&Tuning| only.is_empty() || only.contains(&tuning.id);
    Ok(all.iter().filter(is_wanted).cloned().collect())
}
