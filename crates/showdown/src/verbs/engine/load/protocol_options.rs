//! The options of the protocols on the command line of `showdown load`. Each registered protocol lists its own; this file
//! adds them to the command line and collects what the user wrote.

use std::collections::{BTreeMap, BTreeSet};

use clap::builder::PossibleValuesParser;
use clap::error::Error;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use load::drivers::PROTOCOLS;
use load::drivers::options::DriverOption;

/// The values of the options by name; a switch that is set has no value.
#[derive(Clone, Debug, Default)]
pub struct ProtocolOptions(pub BTreeMap<&'static str, Vec<String>>);

/// The options of all protocols, each once.
fn all() -> impl Iterator<Item = &'static DriverOption> {
    let mut known = BTreeSet::new();
    PROTOCOLS.iter().flat_map(|protocol| protocol.options()).filter(move |option| known.insert(option.name))
}

fn argument(option: &'static DriverOption) -> Arg {
    let mut argument = Arg::new(option.name).long(option.name).help(option.help).help_heading(option.heading);
    if let Some(short) = option.short {
        argument = argument.short(short);
    }
    if option.is_operation {
        argument = argument.conflicts_with_all(["ops", "scenario"]);
    }
    let Some(value) = option.value else { return argument.action(ArgAction::SetTrue) };
    let action = if option.is_repeated { ArgAction::Append } else { ArgAction::Set };
    let argument = argument.value_name(value).action(action);
    if option.choices.is_empty() {
        let check = option.check;
        argument.value_parser(move |text: &str| check(text).map(|()| text.to_owned()))
    } else {
        argument.value_parser(PossibleValuesParser::new(option.choices))
    }
}

impl Args for ProtocolOptions {
    fn augment_args(command: Command) -> Command {
        command.args(all().map(argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ProtocolOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let given = all().filter_map(|option| {
            let values = match option.value {
                None => matches.get_flag(option.name).then(Vec::new)?,
                Some(_) => matches.get_many::<String>(option.name)?.cloned().collect(),
            };
            Some((option.name, values))
        });
        Ok(Self(given.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.extend(Self::from_arg_matches(matches)?.0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::verbs::engine::load::LoadArgs;

    use super::*;

    #[test]
    fn the_help_lists_every_scheme_and_every_option() {
        let help = LoadArgs::augment_args(Command::new("load")).render_long_help().to_string();
        for scheme in PROTOCOLS.iter().flat_map(|protocol| protocol.schemes()) {
            assert!(help.contains(&format!("{}://", scheme.name())), "the help lacks {}://", scheme.name());
        }
        for option in all() {
            assert!(help.contains(&format!("--{}", option.name)), "the help lacks --{}", option.name);
        }
    }
}
