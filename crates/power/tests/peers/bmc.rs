//! BMCs: Redfish of both schemas, and IPMI against `ipmi_sim`.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use power::{Boundary, PowerSource};

use super::http_server::{HttpServer, json};
use super::plugs::private_file;
use super::{Peer, error, open, watts};

const CHASSIS: &str = r#"{"Members":[{"@odata.id":"/redfish/v1/Chassis/1U"}],"Members@odata.count":1}"#;

#[test]
fn the_present_schema_is_asked_first() {
    let bmc = HttpServer::start(vec![
        ("/redfish/v1/Chassis", json(CHASSIS)),
        (
            "/redfish/v1/Chassis/1U/EnvironmentMetrics",
            json(r#"{"PowerWatts":{"Reading":374},"EnergykWh":{"Reading":3}}"#),
        ),
        ("/redfish/v1/Chassis/1U/Power", json(r#"{"PowerControl":[{"PowerConsumedWatts":1}]}"#)),
    ]);
    let mut source = bmc.source("redfish", "");
    assert_eq!((watts(&mut *source), watts(&mut *source)), (374.0, 374.0));
    assert_eq!(source.about().boundary, Boundary::Unknown);
    let requests = bmc.requests.lock().unwrap().len();
    assert_eq!(requests, 4, "found once, and then one request a reading");
}

#[test]
fn inputs_of_power_supplies_are_the_plug() {
    let bmc = HttpServer::start(vec![
        ("/redfish/v1/Chassis", json(CHASSIS)),
        ("/redfish/v1/Chassis/1U/EnvironmentMetrics", json(r#"{"FanSpeedsPercent":[]}"#)),
        (
            "/redfish/v1/Chassis/1U/PowerSubsystem/PowerSupplies",
            json(
                r#"{"Members":[{"@odata.id":"/redfish/v1/Chassis/1U/PowerSubsystem/PowerSupplies/0"},
                {"@odata.id":"/redfish/v1/Chassis/1U/PowerSubsystem/PowerSupplies/1"}]}"#,
            ),
        ),
        (
            "/redfish/v1/Chassis/1U/PowerSubsystem/PowerSupplies/0/Metrics",
            json(r#"{"InputPowerWatts":{"Reading":187.5}}"#),
        ),
        (
            "/redfish/v1/Chassis/1U/PowerSubsystem/PowerSupplies/1/Metrics",
            json(r#"{"InputPowerWatts":{"Reading":12.5}}"#),
        ),
    ]);
    let mut source = bmc.source("redfish", "");
    assert_eq!(watts(&mut *source), 200.0);
    assert_eq!(source.about().boundary, Boundary::Wall);
}

#[test]
fn an_old_bmc_has_the_deprecated_schema() {
    let old = HttpServer::start(vec![
        ("/redfish/v1/Chassis", json(CHASSIS)),
        ("/redfish/v1/Chassis/1U/Power", json(r#"{"PowerControl":[{"PowerConsumedWatts":344}]}"#)),
    ]);
    let mut source = old.source("redfish", ",boundary=wall");
    assert_eq!((watts(&mut *source), source.about().boundary), (344.0, Boundary::Wall));
}

#[test]
fn several_chassis_with_power_are_not_guessed_between() {
    let power = r#"{"PowerControl":[{"PowerConsumedWatts":344}]}"#;
    let bmc = HttpServer::start(vec![
        (
            "/redfish/v1/Chassis",
            json(
                r#"{"Members":[{"@odata.id":"/redfish/v1/Chassis/Blade1"},{"@odata.id":"/redfish/v1/Chassis/Rack"}]}"#,
            ),
        ),
        ("/redfish/v1/Chassis/Blade1/Power", json(power)),
        ("/redfish/v1/Chassis/Rack/Power", json(r#"{"PowerControl":[{"PowerConsumedWatts":5000}]}"#)),
    ]);
    let line = error(&mut *bmc.source("redfish", ""));
    assert!(line.contains("(Blade1, Rack), and one may contain another: name one as chassis"), "{line}");
    assert_eq!(watts(&mut *bmc.source("redfish", ",chassis=Blade1")), 344.0);
    assert!(error(&mut *bmc.source("redfish", ",chassis=Blade2")).contains("no chassis has a power reading"));
}

/// The simulator's configuration: one user, IPMI 2.0 on a port of loopback.
fn configuration(port: u16) -> String {
    let levels = ["callback", "user", "operator", "admin"];
    let allowed = levels.map(|level| format!("  allowed_auths_{level} none md2 md5 straight\n")).concat();
    format!(
        "name \"sim\"\nset_working_mc 0x20\nstartlan 1\n  addr 127.0.0.1 {port}\n  priv_limit admin\n{allowed}  \
         guid a123456789abcdefa123456789abcdef\nendlan\n\
         user 2 true \"operator\" \"hunter2\" admin 10 none md2 md5 straight\n"
    )
}

const BMC: &str =
    "mc_setbmc 0x20\nmc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr\nmc_enable 0x20\n";

fn simulator(dir: &Path, port: u16) -> Child {
    std::fs::write(dir.join("lan.conf"), configuration(port)).unwrap();
    std::fs::write(dir.join("bmc.emu"), BMC).unwrap();
    let mut command = Command::new("ipmi_sim");
    command.args(["-n", "-c", "lan.conf", "-f", "bmc.emu", "-s", "state"]).current_dir(dir);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("ipmi_sim, of the package openipmi: scripts/install-packages test")
}

/// `ipmi_sim` makes sessions of IPMI 2.0, and knows no DCMI.
#[test]
fn a_bmc_without_dcmi_and_one_with_another_password_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let source = |password: &str, port: u16| -> Box<dyn PowerSource> {
        let file = private_file(dir.path(), password);
        open(&format!("ipmi-dcmi=127.0.0.1:{port},user=operator,password_file={file}"))
    };
    // A session is made, and the command is answered: this BMC has no power reading.
    let says = |port: u16| source("hunter2", port).read().expect_err("no DCMI").to_string();
    let answered = "ipmitool failed: DCMI request failed because: Invalid command";
    let bmc = Peer::start(|port| simulator(dir.path(), port), |port| says(port).starts_with(answered));
    let wrong = error(&mut *source("swordfish", bmc.port));
    assert!(wrong.contains("Unable to establish IPMI v2 / RMCP+ session"), "{wrong}");
    assert!(!wrong.contains("swordfish"));
}
