//! Converts between the plan's variants and knob values and those of the workload.

use archive::model::Variant;
use machine::knob_value;
use workload::{ServerVariant, VariantError, Workload};

/// Variants as the plan has them, each with a name of its own: the second `nginx` is `nginx#2`. Each may have the name of its
/// machine, which is then in its name.
pub fn plan_variants(variants: impl IntoIterator<Item = (ServerVariant, Option<String>)>) -> Vec<Variant> {
    let mut named: Vec<Variant> = Vec::new();
    for (variant, host) in variants {
        let written = match &host {
            None => variant.to_string(),
            Some(host) => {
                variant.to_string().replacen(&variant.server, &format!("{}@{host}", variant.server), 1)
            }
        };
        let earlier =
            named.iter().filter(|v| v.name == written || v.name.starts_with(&format!("{written}#"))).count();
        let name = if earlier == 0 { written } else { format!("{written}#{}", earlier + 1) };
        let knobs = variant.knobs.iter().map(|(name, value)| (name.clone(), knob_value(value)));
        let kernel = variant.kernel.iter().map(|(name, text)| (name.to_string(), text.as_str().into()));
        let knobs = knobs.chain(kernel).collect();
        named.push(Variant { name, server: variant.server, host, knobs });
    }
    named
}

/// A plan's variant as the workload has it. For a checked plan this does not fail.
pub fn server_variant(workload: &Workload, variant: &Variant) -> Result<ServerVariant, VariantError> {
    let knobs: Vec<(String, String)> =
        variant.knobs.iter().map(|(name, value)| (name.clone(), value.written())).collect();
    let knobs = knobs.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    match variant.host {
        None => workload.variant(&variant.server, knobs),
        Some(_) => workload.variant_elsewhere(&variant.server, knobs),
    }
}
