//! A plan that makes this machine quieter: all of its variants here have the same kernel settings, which the run applies and restores as those of
//! any variant. Which settings there are is left to [`host::knobs::Quieting`].

use archive::model::Plan;
use host::knobs::Quieting;

use crate::plan::error::PlanError;

/// The plan with these settings for each variant of this machine. What the user named stays.
pub fn quieted(mut plan: Plan, quieting: &Quieting) -> Result<Plan, PlanError> {
    let is_here: Vec<bool> = plan.variants.iter().map(|variant| plan.is_here(variant)).collect();
    if !is_here.contains(&true) {
        return Err(PlanError::QuietHost(
            "no server is on this machine, and hosts are not changed: leave it out",
        ));
    }
    if quieting.settings.is_empty() && !quieting.has_idle_states {
        return Err(PlanError::QuietHost(
            "there is nothing that this user may change: run as root, see `showdown doctor`, or leave it out",
        ));
    }
    for (variant, _) in plan.variants.iter_mut().zip(is_here).filter(|(_, is_here)| *is_here) {
        for setting in &quieting.settings {
            variant.knobs.entry(setting.knob.to_string()).or_insert_with(|| setting.value.as_str().into());
        }
    }
    plan.quiet_host = true;
    Ok(plan)
}

/// What was done to this machine, for the facts of a run; none where the plan leaves it as it is.
pub fn fact(plan: &Plan, are_cpus_awake: bool) -> Option<String> {
    if !plan.quiet_host {
        return None;
    }
    let first = plan.variants.iter().find(|variant| plan.is_here(variant))?;
    let settings = first.knobs.iter().filter(|(name, _)| workload::is_kernel_setting(name));
    let mut done: Vec<String> = settings.map(|(name, value)| format!("{name}={value}")).collect();
    done.push(if are_cpus_awake { "no deep idle states" } else { "idle states as they were" }.to_owned());
    Some(done.join(", "))
}

#[cfg(test)]
mod tests {
    use host::knobs::QuietingSetting;
    use workload::Catalogue;

    use super::*;
    use crate::plan::check::why_one_at_a_time;
    use crate::testing::plan::PLAN;

    const SETTING: &str = "kernel.numa_balancing";

    fn quieting() -> Quieting {
        let knob = SETTING.parse().expect("a setting");
        let setting = QuietingSetting { knob, value: "0".to_owned(), why: "memory moves" };
        Quieting { settings: vec![setting], has_idle_states: true }
    }

    #[test]
    fn all_variants_have_the_quieter_settings_and_keep_their_own() {
        let mut plan: Plan = PLAN.parse().expect("a plan");
        plan.variants[1].knobs.insert(SETTING.to_owned(), "1".into());
        let quiet = quieted(plan.clone(), &quieting()).expect("a plan");
        let values: Vec<String> =
            quiet.variants.iter().map(|variant| variant.knobs[SETTING].to_string()).collect();
        assert_eq!(values, ["0", "1"], "the user named the second");
        assert_eq!(fact(&quiet, true).as_deref(), Some("kernel.numa_balancing=0, no deep idle states"));
        assert_eq!(fact(&plan, true), None);
    }

    #[test]
    fn lasting_settings_that_all_variants_have_alike_leave_their_servers_in_turns() {
        let workload = Catalogue::default().find("static-web").expect("a built-in workload");
        let alike = quieted(PLAN.parse().expect("a plan"), &quieting()).expect("a plan");
        assert_eq!(why_one_at_a_time(&alike, &workload), None);
        let mut unlike = alike;
        unlike.variants[1].knobs.insert(SETTING.to_owned(), "1".into());
        assert!(why_one_at_a_time(&unlike, &workload).is_some_and(|why| why.contains("effects that last")));
    }

    #[test]
    fn a_machine_with_nothing_to_change_is_an_error() {
        let error = quieted(PLAN.parse().expect("a plan"), &Quieting::default()).expect_err("nothing to do");
        assert!(error.to_string().starts_with("--quiet-host: there is nothing"), "{error}");
    }
}
