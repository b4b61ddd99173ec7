//! What is killed or cut off in the middle: it is said at once or after the silence of the protocol, and nothing is left.

use std::process::Child;

use super::lab::Lab;
use super::{kill_those_with, stderr, wait_for};

/// `showdown hosts` in the middle of a long measurement between c1 and c2.
fn measuring(lab: &Lab) -> Child {
    let child =
        lab.hosts_command(&lab.read("hosts.toml"), &["--for", "1h"]).spawn().expect("it can be started");
    for host in ["c1", "c2"] {
        wait_for("agents that are connected", || {
            let connections = lab.output_on(host, &["ss", "-Htn", "state", "established"]);
            connections.lines().any(|line| !line.contains(":22 ")).then_some(())
        });
    }
    child
}

fn nothing_is_left(lab: &Lab) {
    super::nothing_is_left(lab, &["c1", "c2"]);
    wait_for("a controller without ssh and showdown", || {
        let list = lab.output(&["ps", "-e", "-o", "args="]);
        (!list.contains(" hosts --hosts ") && !list.contains("ssh -T ")).then_some(())
    });
}

#[test]
fn ssh_the_agent_and_showdown_are_killed() {
    let Some(lab) = Lab::up(2) else { return };
    for (host, words, reasons) in [
        (None, "ssh -T ", &[" was lost: ssh was killed by signal 9: start again"][..]),
        (Some("c1"), "agent --stdio", &["host c1 was lost: its agent was killed: start again"][..]),
    ] {
        let child = measuring(&lab);
        kill_those_with(&lab, host, words);
        let output = child.wait_with_output().expect("it ends");
        let errors = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{words}: {errors}");
        assert!(reasons.iter().all(|reason| errors.contains(reason)), "{words}: {errors}");
        nothing_is_left(&lab);
    }
    let mut child = measuring(&lab);
    kill_those_with(&lab, None, " hosts --hosts ");
    child.wait().expect("it ends");
    nothing_is_left(&lab);
}

#[test]
fn a_host_that_is_cut_off_is_lost_and_cleans_up_by_itself() {
    let Some(lab) = Lab::up(2) else { return };
    let mut child = measuring(&lab);
    assert!(lab.on("c2", &["ip", "link", "set", "eth0", "down"]).status.success());
    wait_for("the end of showdown long before the hour", || child.try_wait().expect("its state"));
    let output = child.wait_with_output().expect("it ends");
    let errors = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("host c2 was lost: "), "{errors}");
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("1 of 2 hosts can be used."), "{output:?}");
    // It has no link to hear of the end by: silence ends the agent. sshd itself notices later.
    wait_for("the end of the agent of c2", || {
        let left = lab.left_on("c2");
        left.iter().all(|line| line.contains("sshd: ")).then_some(())
    });
}
