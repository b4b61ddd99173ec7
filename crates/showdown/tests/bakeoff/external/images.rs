//! Two images of one service as variants, by their digests: real images in a store of the test, run by podman in the host's network.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::home::{TestHome, json, only_run, skip, text, trials};

/// The service of an image: busybox's server of files.
const SERVICE: &str = r#""/bin/busybox", "httpd", "-f", "-p", "{{ address }}", "-h", "/www""#;
/// What a container may have, where the test itself is in one.
const LIMITS: [&str; 2] = ["--ulimit=nofile=1024:1024", "--ulimit=nproc=1000:1000"];

/// podman's words before its verb: it keeps all in the test's directory, and needs neither a user's session nor systemd.
fn podman(home: &TestHome) -> Vec<String> {
    let store = |name: &str| home.path(&format!("podman/{name}")).display().to_string();
    let fixed =
        ["--cgroup-manager=cgroupfs", "--events-backend=none", "--storage-driver=vfs", "--runtime=runc"];
    let mut words = vec!["podman".to_owned()];
    for (option, name) in [("--root", "root"), ("--runroot", "run"), ("--tmpdir", "tmp")] {
        words.extend([option.to_owned(), store(name)]);
    }
    words.extend(fixed.map(str::to_owned));
    words
}

fn call(podman: &[String], more: &[&str]) -> Option<Output> {
    Command::new(&podman[0]).args(&podman[1..]).args(more).output().ok()
}

/// Makes an image whose page is this text; returns its name with its digest.
fn image(home: &TestHome, podman: &[String], page: &str) -> Option<String> {
    let root = home.path("image");
    for folder in ["bin", "www", "tmp"] {
        fs::create_dir_all(root.join(folder)).expect("a folder");
    }
    fs::copy("/bin/busybox", root.join("bin/busybox")).ok()?;
    fs::write(root.join("www/index.html"), page).expect("a page");
    let archive = home.path("image.tar");
    let packed = Command::new("tar").arg("-C").arg(&root).arg("-cf").arg(&archive).arg(".").status();
    assert!(packed.expect("tar").success());
    let name = format!("localhost/service:{page}");
    let imported = call(podman, &["import", &archive.display().to_string(), &name])?;
    if !imported.status.success() {
        return None;
    }
    let digests = call(podman, &["images", "--digests", "--format", "{{.Repository}}@{{.Digest}}", &name])?;
    text(&digests.stdout).lines().next().map(str::to_owned)
}

/// The words as a list of TOML, with `more` at its end.
fn list(words: &[String], more: &str) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
    format!("[{}, {more}]", words.join(", "))
}

fn write_workload(home: &TestHome, podman: &[String]) {
    let limits = LIMITS.map(|limit| format!("{limit:?}")).join(", ");
    let start = format!(
        "\"run\", \"--detach\", \"--rm\", \"--name\", \"api-{{{{ port }}}}\", \"--network=host\", {limits}, \"{{{{ image }}}}\", {SERVICE}"
    );
    let workload = format!(
        "title = \"Images\"\n[server.api]\nstart = {}\nstop = {}\nready = {{ http = \"/\", within = \"60s\" }}\n\
         [server.api.knobs.image]\nabout = \"the image\"\ndefault = \"localhost/service:a\"\npattern = '[a-z0-9][a-zA-Z0-9./_:@-]*'\n\
         [load]\nprotocol = \"http\"\nslo = \"p99<50ms\"\nconnections = 2\n[[load.op]]\npath = \"/\"\n",
        list(podman, &start),
        list(podman, r#""stop", "--time", "1", "api-{{ port }}""#),
    );
    let folder = home.path("workloads/api");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("workload.toml"), workload).expect("the workload");
}

#[test]
fn two_images_by_their_digests_are_two_variants() {
    let home = TestHome::new();
    let podman = podman(&home);
    if !rustix::process::geteuid().is_root() {
        return skip("only root may run a container in the host's network");
    }
    let is_there = |program: &str| {
        ["/usr/bin", "/usr/sbin", "/bin"].iter().any(|folder| Path::new(folder).join(program).exists())
    };
    if let Some(missing) = ["podman", "runc", "busybox"].into_iter().find(|program| !is_there(program)) {
        return skip(&format!("there is no {missing}: scripts/install-packages test"));
    }
    let images: Vec<String> = ["a", "b"].iter().filter_map(|page| image(&home, &podman, page)).collect();
    let runs = images.first().and_then(|image| {
        let words =
            ["run", "--rm", "--network=host", LIMITS[0], LIMITS[1], image.as_str(), "/bin/busybox", "true"];
        call(&podman, &words).map(|output| output.status.success())
    });
    if images.len() < 2 || runs != Some(true) {
        return skip("this container forbids containers of its own");
    }
    write_workload(&home, &podman);
    let variants = images.iter().map(|image| format!("api:image={image}")).collect::<Vec<_>>();
    let plan = home.small_plan(&[&variants[0], &variants[1]]);
    let output = home.run(&["run", &plan]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{} {}", text(&output.stdout), text(&output.stderr));
    let run = only_run(&home);
    let record = fs::read_to_string(run.join("plan.toml")).expect("the plan");
    assert!(images.iter().all(|image| image.contains("@sha256:") && record.contains(image)), "{record}");
    for trial in trials(&run) {
        let record = json(&trial.join("trial.json"));
        let cores = record["server"]["cores"].as_f64();
        assert!(cores.is_some_and(|cores| cores > 0.0), "the container's CPU time is the server's: {record}");
    }
    let left = call(&podman, &["ps", "--all", "--quiet"]).expect("podman");
    assert_eq!(text(&left.stdout).trim(), "", "no container is left");
}
