//! A server that can be tuned: what a request names, looked up. Whether a tuning is called for is left to
//! [`candidate`](mod@crate::candidate).

use bakeoff::PlanError;
use bakeoff::plan_request::{self, PlanRequest};
use host::Host;
use workload::definition::ServerDefinition;
use workload::{Catalogue, VariantError, VariantText};

use crate::applicable::why_not_fit;
use crate::catalogue::TuningCatalogue;
use crate::error::TuneError;
use crate::request::TuneRequest;
use crate::tuning::Tuning;

/// A server that can be tuned, with the tunings that are wanted.
pub struct TunableServer {
    /// What is known of its program.
    pub definition: ServerDefinition,
    /// Its settings.
    pub baseline: VariantText,
    /// The tunings that may be tried.
    pub tunings: Vec<Tuning>,
}

/// Checks that servers can be tuned, that what is asked of them can be planned, and that each tuning that was named can be tried on
/// one of them. A mistake in the second must not cost the time of the first.
pub fn check(requests: &[TuneRequest]) -> Result<(), TuneError> {
    let servers: Vec<TunableServer> = requests.iter().map(TunableServer::of).collect::<Result<_, _>>()?;
    // Without names, what fits no server is left out, and its reason is in the record.
    let Some(first) = servers.first().filter(|_| requests.iter().any(|request| !request.only.is_empty()))
    else {
        return Ok(());
    };
    for tuning in &first.tunings {
        let whys: Vec<String> =
            servers.iter().filter_map(|server| why_not_fit(tuning, &server.definition)).collect();
        if whys.len() == servers.len() {
            let (id, why, server) = (tuning.id.clone(), whys[0].clone(), first.definition.name.clone());
            return Err(TuneError::Unfit { id, why, server });
        }
    }
    Ok(())
}

impl TunableServer {
    /// Looks up what a request names.
    pub fn of(request: &TuneRequest) -> Result<Self, TuneError> {
        let tunings = wanted(&TuningCatalogue::with_own(&request.rules)?, &request.only)?;
        let written = &request.server;
        let (workload, variants) = Catalogue::default()
            .resolve(request.workload.as_deref(), std::slice::from_ref(written))
            .map_err(PlanError::from)?;
        let baseline: VariantText = written.parse().map_err(PlanError::from)?;
        if baseline.host.is_some() {
            return Err(TuneError::Elsewhere);
        }
        let equal = PlanRequest { variants: vec![written.clone(); 2], ..request.of_trials() };
        plan_request::plan(&equal, &Host::local())?;
        let definition =
            workload.server(&variants[0].server).map_err(VariantError::from).map_err(PlanError::from)?;
        Ok(Self { definition: definition.clone(), baseline, tunings })
    }

    /// Whether the server can be asked what it says of itself, and a tuning for it depends on the answer.
    pub fn depends_on_statistics(&self) -> bool {
        let for_it = self.tunings.iter().filter(|tuning| why_not_fit(tuning, &self.definition).is_none());
        let mut conditions = for_it.flat_map(|tuning| tuning.when.iter().chain(&tuning.unless));
        let depends = conditions.any(|condition| explain::is_of_statistics(&condition.figure));
        depends && !self.definition.observe.is_empty()
    }
}

/// The tunings that the user wants, all by default.
fn wanted(catalogue: &TuningCatalogue, only: &[String]) -> Result<Vec<Tuning>, TuneError> {
    let all = catalogue.all();
    if let Some(unknown) = only.iter().find(|id| all.iter().all(|tuning| tuning.id != **id)) {
        return Err(TuneError::UnknownTuning(unknown.clone()));
    }
    let is_wanted = |tuning: &&Tuning| only.is_empty() || only.contains(&tuning.id);
    Ok(all.iter().filter(is_wanted).cloned().collect())
}
