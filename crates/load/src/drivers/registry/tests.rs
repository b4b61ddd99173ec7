//! Every protocol is registered once and has all of its parts: names, schemes, codec with fuzz target and property tests,
//! driver, data that survives JSON.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::*;

fn unique<T: Ord + Debug>(what: &str, all: impl IntoIterator<Item = T>) {
    let mut known = BTreeSet::new();
    for one in all {
        let text = format!("{one:?}");
        assert!(known.insert(one), "two {what} are {text}");
    }
}

/// A mix with one operation for each protocol, in the form of a workload.
fn example(protocol: &str) -> &'static str {
    match protocol {
        "http" => "op = [{ path = '/' }]",
        "memcache" | "redis" => "op = [{ command = 'get' }]\nkeyspace = { keys = 10, value_size = '4' }",
        "mysql" | "postgres" => "op = [{ transaction = 'point-select' }]\ntables = { tables = 1, rows = 10 }",
        "smtp" => "op = [{ size = '300' }]\nmail = {}",
        "runner" => "op = [{ name = 'read' }]",
        other => panic!("protocol {other:?} has no example here: add one"),
    }
}

fn mix_of(protocol: RegisteredProtocol) -> OperationMix {
    let mut table = DeTable::parse(example(protocol.name())).expect("TOML").into_inner();
    let DeValue::Array(operations) = table.remove("op").expect("operations").into_inner() else {
        panic!("op is no array")
    };
    let section = protocol.mix_section().and_then(|section| table.remove(section.name));
    protocol.parse_mix(section, None, operations.into_iter().collect()).expect("a mix")
}

fn access() -> ServerAccess {
    ServerAccess { authority: "localhost".to_owned(), ..ServerAccess::default() }
}

#[test]
fn no_protocol_is_registered_twice() {
    unique("protocols", PROTOCOLS.iter().map(|protocol| protocol.name()));
    let schemes = PROTOCOLS.iter().flat_map(|protocol| protocol.schemes());
    unique("schemes", schemes.flat_map(|scheme| scheme.names));
    let of_one = |protocol: &RegisteredProtocol| protocol.options().into_iter().map(|option| option.name);
    for protocol in PROTOCOLS {
        unique("options", of_one(protocol));
    }
    // Two protocols may have the same option, but not two options of one name.
    let mut options: Vec<_> = PROTOCOLS.iter().flat_map(|protocol| protocol.options()).collect();
    options.sort_by_key(|option| option.name);
    options.dedup_by(|a, b| (a.name, a.help) == (b.name, b.help));
    unique("options", options.iter().map(|option| option.name));
}

#[test]
fn every_protocol_is_complete() {
    for protocol in PROTOCOLS {
        let name = protocol.name();
        assert_eq!(RegisteredProtocol::by_name(name), Some(*protocol), "{name}");
        for scheme in protocol.schemes() {
            let found = RegisteredProtocol::by_scheme(scheme.name());
            assert_eq!(found, Some((*protocol, scheme)), "{name}");
        }
        let plain = protocol.schemes().iter().filter(|scheme| !scheme.is_tls);
        for other in plain.flat_map(|scheme| scheme.names) {
            assert_eq!(RegisteredProtocol::by_name(other), Some(*protocol), "{other}");
        }
        assert!(protocol.makes_own_load() || !protocol.schemes().is_empty(), "{name} has no URL scheme");
        let spec = protocol.spec(&mix_of(*protocol), &access()).expect("its own mix");
        assert_eq!(spec.protocol(), *protocol);
        let (operations, counters) = spec.names().expect("names");
        assert_eq!(operations.len(), 1, "{name}");
        for counter in protocol.hourly_counters() {
            assert!(counters.contains(counter), "{name} has no counter {counter:?}");
        }
        assert!(!spec.starts_tls() || protocol.may_start_tls(), "{name} starts TLS unannounced");
        for (stage, operations) in spec.populate() {
            assert!(operations > 0 && stage.names().is_ok(), "{name}: {stage:?}");
        }
        let json = serde_json::to_value(&spec).expect("JSON");
        assert_eq!(json["protocol"], name, "the variant of ProtocolSpec must be named as the protocol");
        assert_eq!(serde_json::from_value::<ProtocolSpec>(json).expect("a spec"), spec);
    }
}

#[test]
fn a_mix_serves_every_protocol_of_its_kind_and_no_other() {
    for (one, other) in PROTOCOLS.iter().flat_map(|one| PROTOCOLS.iter().map(move |other| (*one, *other))) {
        let spec = other.spec(&mix_of(one), &access());
        assert_eq!(spec.is_some(), one.shares_mix_with(other), "{one:?} and {other:?}");
    }
}

#[test]
fn every_codec_has_a_protocol_a_fuzz_target_and_property_tests() {
    let wire = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wire");
    let names_in = |folder: PathBuf| -> BTreeSet<String> {
        let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
    };
    let is_folder = |name: &String| wire.join("src").join(name).is_dir();
    let codecs: BTreeSet<String> = names_in(wire.join("src")).into_iter().filter(is_folder).collect();
    let registered: BTreeSet<String> =
        PROTOCOLS.iter().filter_map(|protocol| protocol.codec()).map(str::to_owned).collect();
    assert_eq!(registered, codecs, "codecs of the registered protocols, and folders of the crate wire");
    let (targets, tests) =
        (names_in(wire.join("../../fuzz/fuzz_targets")), names_in(wire.join("tests/properties")));
    for codec in codecs {
        assert!(targets.iter().any(|target| target.starts_with(&codec)), "{codec} has no fuzz target");
        assert!(tests.contains(&format!("{codec}.rs")), "{codec} has no property tests");
    }
}
