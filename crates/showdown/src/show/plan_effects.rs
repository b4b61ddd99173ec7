//! What a plan does, for the user who decides whether to run it.

use std::fmt::Write;

use archive::printable::one_line;
use bakeoff::PlanEffects;

use super::layout::units::plural;
use crate::color;

/// What the plan at `path` does. It is not the user's own because of `origin`.
pub fn text(path: &str, origin: &str, effects: &PlanEffects) -> String {
    let mut out = format!("{}: {origin}. As {}, it will\n\n", color::caution(path), user());
    let none = |list: &[String]| if list.is_empty() { vec!["nothing".to_owned()] } else { list.to_vec() };
    let rows = [
        ("reach", effects.hosts.clone()),
        ("use", vec![effects.workload.clone()]),
        ("execute", effects.commands.clone()),
        ("install", none(&effects.packages)),
        ("start", effects.variants.clone()),
        ("set in the kernel", none(&effects.kernel_settings)),
        ("run", vec![plural(effects.trials, "trial")]),
    ];
    for (what, lines) in rows {
        for (at, line) in lines.iter().enumerate() {
            // A name with a line break would look like a row of its own.
            let _ = writeln!(out, "  {:<18} {}", if at == 0 { what } else { "" }, one_line(line));
        }
    }
    out.push('\n');
    out
}

fn user() -> String {
    let user = rustix::process::geteuid();
    if user.is_root() { "root".to_owned() } else { format!("user {}", user.as_raw()) }
}
