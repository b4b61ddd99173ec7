//! Descriptions of sources that are right, and each mistake with its line.

use proptest::prelude::*;

use super::*;

fn checked(argument: &str) -> Result<SourceDescription, String> {
    SourceKeys::from_argument(argument)?.check("meter")
}

fn from_toml(text: &str) -> Result<SourceDescription, String> {
    toml::from_str::<SourceKeys>(text).map_err(|error| error.message().to_owned())?.check("meter")
}

#[test]
fn each_kind_is_described_with_few_keys() {
    for (argument, origin, boundary) in [
        ("shelly=http://10.0.0.31", "http://10.0.0.31", Boundary::Wall),
        ("tasmota=http://10.0.0.32:8080,channel=1", "http://10.0.0.32:8080", Boundary::Wall),
        ("redfish=https://bmc.example", "https://bmc.example", Boundary::Unknown),
        ("redfish=https://bmc.example,boundary=dc,chassis=1U", "https://bmc.example", Boundary::Dc),
        ("apc-rpdu2=10.0.0.9,outlet=5", "10.0.0.9:161", Boundary::Wall),
        ("apc-rpdu=pdu.example:1161", "pdu.example:1161", Boundary::Wall),
        ("raritan-px2=[fe80::1]:161,pdu=2,inlet=1", "[fe80::1]:161", Boundary::Wall),
        ("ipmi-dcmi=10.0.0.9,user=op,password_env=P", "10.0.0.9:623", Boundary::Unknown),
    ] {
        let described = checked(argument).unwrap_or_else(|error| panic!("{argument}: {error}"));
        let about = described.about();
        assert_eq!((about.origin.as_str(), about.boundary), (origin, boundary), "{argument}");
        assert!(about.is_indicative(), "nobody said how exact it is");
    }
    let analyser = checked("shelly=http://h,uncertainty=0.5 %").unwrap();
    assert!(!analyser.about().is_indicative());
}

#[test]
fn a_table_has_the_same_keys() {
    let table =
        "kind = \"raritan-px2\"\naddress = \"10.0.0.9\"\noutlet = 3\ncommunity_env = \"C\"\nversion = \"1\"";
    let described = from_toml(table).unwrap();
    assert!(matches!(
        described.device,
        Device::Pdu { model: PduModel::RaritanPx2(1, Outlet::One(3)), version: SnmpVersion::V1, .. }
    ));
    assert!(
        from_toml("kind = \"shelly\"\naddress = \"http://h\"\npassword = \"x\"")
            .unwrap_err()
            .contains("unknown field")
    );
}

#[test]
fn each_mistake_has_its_line() {
    for (argument, part) in [
        ("10.0.0.9", "write it as KIND=ADDRESS"),
        ("wattmeter=10.0.0.9", "kind: \"wattmeter\" is none: write one of shelly, tasmota, redfish"),
        ("shelly=10.0.0.31", "is no URL"),
        ("shelly=ftp://10.0.0.31", "neither http:// nor https://"),
        ("shelly=http://admin:pw@10.0.0.31", "which belong to the keys user and password_env"),
        ("shelly=http://10.0.0.31/status", "has a path"),
        ("shelly=http://h,password=x", "every user sees a command line"),
        ("apc-rpdu2=h,community=x", "name a variable as community_env"),
        ("shelly=http://h,outlet=1", "outlet: a source of the kind shelly has none"),
        ("shelly=http://h,boundary=dc", "is at the plug"),
        ("redfish=https://h,boundary=package", "neither \"wall\" at the plug nor \"dc\""),
        ("redfish=http://10.0.0.9,user=u,password_env=P", "cross the network in the clear"),
        ("redfish=https://h,chassis=../x", "is not the Id of a chassis"),
        ("redfish=http://h,certificate=x.pem", "http has none"),
        ("shelly=http://h,user=admin", "there is no password for it"),
        ("shelly=http://h,password_env=P", "user is missing"),
        ("shelly=http://h,user=u,password_env=P,password_file=f", "keep one of them"),
        ("ipmi-dcmi=10.0.0.9", "a BMC wants a user"),
        ("ipmi-dcmi=-I,user=u,password_env=P", "is no host"),
        ("apc-rpdu2=http://10.0.0.9", "is no host"),
        ("apc-rpdu2=10.0.0.9:99999", "is no host"),
        ("apc-rpdu2=10.0.0.9,outlet=0", "count from 1"),
        ("apc-rpdu2=10.0.0.9,outlet=x", "is not a number"),
        ("apc-rpdu2=10.0.0.9,outlet=1,module=2", "one outlet or the whole"),
        ("apc-rpdu2=10.0.0.9,version=3", "is not spoken"),
        ("apc-rpdu2=10.0.0.9,uncertainty=1", "write it as \"1 %\""),
        ("apc-rpdu2=10.0.0.9,sensor=1", "sensor is not a key"),
    ] {
        let error = checked(argument).expect_err(argument);
        assert!(error.contains(part) && !error.contains('\n'), "{argument}: {error}");
    }
    let plug = || SourceKeys::from_argument("shelly=http://h").unwrap();
    assert!(plug().check("a b").unwrap_err().contains("is no name") && plug().check("").is_err());
    assert!(SourceKeys::default().check("a").unwrap_err().starts_with("kind is missing"));
}

#[test]
fn a_secret_that_is_missing_is_named_when_the_source_is_opened() {
    let described = checked("shelly=http://h,user=u,password_env=SHOWDOWN_NO_SUCH_VARIABLE").unwrap();
    let error = described.open().unwrap_err();
    assert_eq!(error, "the variable SHOWDOWN_NO_SUCH_VARIABLE is not set: export it");
}

proptest! {
    #[test]
    fn no_argument_panics(kind in prop::sample::select(KINDS), rest in "\\PC*") {
        if let Ok(keys) = SourceKeys::from_argument(&format!("{}={rest}", kind.0)) {
            let _ = keys.check("x").map(|described| described.about().name.clone());
        }
    }
}
