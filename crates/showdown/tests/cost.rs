//! Published evaluations, cost and fleets as a user calls them, with recorded runs.

use std::process::{Command, Output, Stdio};

/// A directory to work in.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_showdown"));
        command.args(args).current_dir(self.0.path()).stdin(Stdio::null()).output().expect("showdown runs")
    }

    /// What a command prints that succeeds.
    fn prints(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// The one line of a command that is refused with this exit code.
    fn is_refused(&self, code: i32, args: &[&str]) -> String {
        let output = self.run(args);
        let line = text(&output.stderr);
        assert_eq!((output.status.code(), line.lines().count()), (Some(code), 1), "{args:?}: {line}");
        assert!(output.stdout.is_empty(), "{args:?}");
        line
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

mod published {
    use super::Home;

    #[test]
    fn figures_are_listed_with_year_client_and_caveat() {
        let text = Home::new().prints(&["published", "--workload", "static-web"]);
        assert!(text.contains("2006 a mirror service's evaluation of a Sun Fire T2000"), "{text}");
        assert!(text.contains("5,718 requests/s, client siege, 11 machines"), "{text}");
        assert!(text.contains("caveat: mean of 5 runs; withdrawn"), "{text}");
        assert!(!text.contains("memcached"), "{text}");
    }

    #[test]
    fn claims_are_checked() {
        let home = Home::new();
        let text = home.prints(&["published"]);
        for part in ["8 / 1.8 = 4.4 ×", "18.3 → 22.2 is 21.5 %", "implies 0.0999 EUR/kWh"] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        let page = home.prints(&["published", "--format", "md"]);
        assert!(page.starts_with("# Published evaluations"), "{page}");
        home.prints(&["published", "--format", "md", "-o", "cost.md"]);
        assert_eq!(std::fs::read_to_string(home.0.path().join("cost.md")).expect("the page"), page);
    }

    #[test]
    fn an_unknown_workload_is_refused_with_the_known_ones() {
        let line = Home::new().is_refused(2, &["published", "--workload", "web"]);
        assert!(line.contains("build, cache, kv, mail, olio, oltp, power, static-web"), "{line}");
    }
}
