//! Companions of a server: a database, a cache, an application behind a web server. Each is a process of its own that is started before
//! the server's. Its keys are those of a server that have a meaning for it; its templates have the server's knobs, and the addresses of
//! the companions before it. Starting them is left to `instance`.

use std::collections::BTreeSet;

use load::drivers::RegisteredProtocol;
use load::drivers::protocol::UrlPath;
use toml::Spanned;

use super::knobs::knob::Knob;
use super::need::Need;
use super::server::{CompanionDefinition, ServerDefinition};
use super::source::raw::RawCompanion;
use super::templates::TemplateCheck;
use crate::folder::Folder;
use notation::source_text::{FileError, SourceText};

/// The name of a server's own process among its parts, where the workload gives it none.
const OWN_PART: &str = "server";

/// The protocol of a companion that names none. It matters only for what is asked of it.
const PROTOCOL: &str = "http";

/// Whether a text is the name of a part: one that templates can write behind a dot.
fn is_name(text: &str) -> bool {
    let is_plain = text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'));
    is_plain && text.starts_with(|c: char| c.is_ascii_lowercase())
}

/// The name of a server's own process among its parts.
pub(super) fn part(written: Option<Spanned<String>>, source: SourceText<'_>) -> Result<String, FileError> {
    match written {
        None => Ok(OWN_PART.to_owned()),
        Some(name) if is_name(name.get_ref()) => Ok(name.into_inner()),
        Some(name) => {
            let what = format!(
                "part {:?}: write a name in small letters, digits and _, with a letter first",
                name.get_ref()
            );
            Err(source.error(&name.span(), what))
        }
    }
}

/// Checks the companions of a server in the order of the file. What their templates use, the server's templates have used.
pub(super) fn check_all(
    server: &str,
    part: &str,
    companions: Vec<Spanned<RawCompanion>>,
    (knobs, folder, has_password): (&[Knob], &Folder, bool),
    source: SourceText<'_>,
    templates: &mut TemplateCheck<'_>,
) -> Result<Vec<CompanionDefinition>, FileError> {
    let mut names: Vec<String> = Vec::new();
    for companion in &companions {
        let RawCompanion { name, password, .. } = companion.get_ref();
        let what = if *password && !has_password {
            Some("password: the server and its companions share one: set password = true for the server, too")
        } else {
            why_no_name(name.get_ref(), part, &names)
        };
        if let Some(what) = what {
            return Err(source.error(&name.span(), format!("companion {:?}: {what}", name.get_ref())));
        }
        names.push(name.get_ref().clone());
    }
    templates.set_companions(names);
    let mut checked = Vec::new();
    for companion in companions {
        let raw = companion.into_inner();
        let name = raw.name.get_ref().clone();
        let mut own = templates.of_next_companion(raw.password);
        let process = check_one(server, raw, (knobs, folder), source, &mut own)?;
        templates.companion_is_checked(own, process.socket.is_some());
        checked.push(CompanionDefinition { name, process });
    }
    Ok(checked)
}

/// Why a text cannot be the name of a companion beside these.
fn why_no_name(text: &str, part: &str, others: &[String]) -> Option<&'static str> {
    if !is_name(text) {
        return Some("write its name in small letters, digits and _, with a letter first");
    }
    if text == part {
        return Some(
            "the server's own process has this name: choose another one, or give that process one with part",
        );
    }
    others.iter().any(|other| other == text).then_some("the server has two of this name: give each its own")
}

/// What is wrong with the protocol of a companion.
fn wrong_protocol(raw: &RawCompanion, protocol: RegisteredProtocol) -> Option<&'static str> {
    if protocol.makes_own_load() {
        return Some("protocol: a runner makes the load of a server, and is no companion");
    }
    if protocol.url_path() == UrlPath::Account && raw.account.is_none() {
        return Some("protocol: what is asked of a database needs account = { user = …, database = … }");
    }
    let asks_sql = raw.ready.as_ref().is_some_and(|ready| ready.get_ref().sql.is_some());
    let has_no_sql = asks_sql && raw.protocol.is_none();
    has_no_sql.then_some("ready: sql needs protocol = \"mysql\" or \"postgres\", and an account")
}

fn check_one(
    server: &str,
    raw: RawCompanion,
    (knobs, folder): (&[Knob], &Folder),
    source: SourceText<'_>,
    templates: &mut TemplateCheck<'_>,
) -> Result<ServerDefinition, FileError> {
    let (name, span) = (raw.name.get_ref().clone(), raw.name.span());
    let own = raw.protocol.as_ref().map(|own| *own.get_ref());
    let protocol = own.or_else(|| RegisteredProtocol::by_name(PROTOCOL)).expect("the protocol is registered");
    if let Some(what) = wrong_protocol(&raw, protocol) {
        return Err(source.error(&span, format!("companion {name:?}: {what}")));
    }
    let mut process = raw.into_server();
    let needs = std::mem::take(&mut process.needs);
    let label = format!("companion {name} of {server}");
    let process = ServerDefinition::check_process(label, process, protocol, folder, source, templates)?;
    let needs: Result<Vec<Need>, FileError> =
        needs.into_iter().map(|raw| Need::check(raw, knobs, source)).collect();
    Ok(ServerDefinition { needs: needs?, ..process })
}

/// Checks that no two parts of a server observe a value of one name: rules could not tell whose it is.
pub(super) fn check_observed(
    server: &ServerDefinition,
    companions: &[CompanionDefinition],
) -> Result<(), String> {
    let parts = companions.iter().map(|companion| &companion.process).chain([server]);
    let mut seen = BTreeSet::new();
    for part in parts {
        let of_part: BTreeSet<&str> = part
            .observe
            .iter()
            .flat_map(|observation| &observation.values)
            .map(|value| value.name.as_str())
            .collect();
        if let Some(twice) = of_part.iter().find(|name| seen.contains(*name)) {
            return Err(format!(
                "{}: observe: {twice}: another part observes a value of this name: give each its own",
                part.name
            ));
        }
        seen.extend(of_part);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::definition::Workload;
    use crate::folder::{DEFINITION, Folder};

    /// A shop with a database and a cache.
    const SHOP: &str = r#"title = "Shop"

[server.shop]
start = ["./shop", "{{ port }}", "{{ companion.database.port }}", "{{ companion.cache.address }}"]

[[server.shop.companion]]
name = "database"
start = ["./database", "{{ port }}", "{{ pool }}"]

[[server.shop.companion]]
name = "cache"
start = ["./cache", "{{ port }}", "{{ companion.database.dir }}/socket"]

[server.shop.knobs.pool]
default = 8
range = "1..64"

[load]
protocol = "http"
slo = "p99<20ms"

[[load.op]]
path = "/"
"#;

    fn read(text: &str) -> Result<Workload, String> {
        let folder = tempfile::tempdir().expect("the directory is created");
        std::fs::write(folder.path().join(DEFINITION), text).expect("the file is written");
        let read = Workload::read(&Folder::Disk(folder.path().to_owned()), DEFINITION);
        read.map_err(|error| format!("{}: {}", error.line, error.message))
    }

    /// The line and the message of the error where the example has `to` in place of `from`.
    fn refused(from: &str, to: &str) -> String {
        assert!(SHOP.contains(from), "{from}");
        read(&SHOP.replacen(from, to, 1)).expect_err(to)
    }

    #[test]
    fn companions_have_the_order_of_the_file_and_the_knobs_of_the_server() {
        let workload = read(SHOP).expect("it is accepted");
        let shop = workload.server("shop").expect("the server");
        assert_eq!(shop.parts(), ["database", "cache", "server"]);
        assert_eq!(shop.companions[0].process.name, "companion database of shop");
        let named = SHOP.replace("start = [\"./shop\"", "part = \"web\"\nstart = [\"./shop\"");
        assert_eq!(read(&named).expect("it is accepted").servers[0].parts(), ["database", "cache", "web"]);
        let alone = SHOP.split("\n[[server.shop.companion]]").next().expect("its begin").to_owned();
        let alone = alone.split(", \"{{ companion").next().expect("its begin").to_owned()
            + "]\n[load]"
            + SHOP.split("[load]").nth(1).expect("the load");
        assert!(read(&alone).expect("it is accepted").servers[0].accounts().is_empty());
    }

    #[test]
    fn a_mistake_is_one_line_with_its_remedy() {
        for (from, to, expected) in [
            (
                "name = \"cache\"",
                "name = \"database\"",
                "11: companion \"database\": the server has two of this name: give each its own",
            ),
            (
                "name = \"cache\"",
                "name = \"server\"",
                "11: companion \"server\": the server's own process has this name: choose another one, or give that process one \
                 with part",
            ),
            (
                "name = \"cache\"",
                "name = \"my-cache\"",
                "11: companion \"my-cache\": write its name in small letters, digits and _, with a letter first",
            ),
            (
                "companion.database.port",
                "companion.databse.port",
                "4: \"{{ companion.databse.port }}\": there is no companion \"databse\" (did you mean \"database\"? available: \
                 database, cache)",
            ),
            (
                "companion.database.port",
                "companion.database.prot",
                "4: \"{{ companion.database.prot }}\": companion \"database\" has no \"prot\" (did you mean \"port\"? available: ",
            ),
            (
                "\"{{ pool }}\"",
                "\"{{ pool }}\", \"{{ companion.cache.port }}\"",
                "8: \"{{ companion.cache.port }}\": companion \"database\" refers to \"cache\", which is started after it: put \
                 \"cache\" before it in the file, and let it not refer to \"database\"",
            ),
            (
                "\"{{ pool }}\"",
                "\"{{ pool }}\", \"{{ companion.database.port }}\"",
                "8: \"{{ companion.database.port }}\": companion \"database\" refers to itself: write {{ port }}, {{ dir }} or",
            ),
            (
                "name = \"cache\"",
                "nam = \"cache\"",
                "11: unknown key \"nam\" (did you mean \"name\"? available: ",
            ),
            ("name = \"cache\"\nstart", "name = \"cache\"\nstatus = []\nstart", "12: unknown key \"status\""),
            (
                "name = \"cache\"",
                "name = \"cache\"\npassword = true",
                "11: companion \"cache\": password: the server and its companions share one: set password = true for the server, too",
            ),
            (
                "name = \"cache\"",
                "name = \"cache\"\nprotocol = \"runner\"",
                "11: companion \"cache\": protocol: a runner makes the load of a server",
            ),
            (
                "name = \"cache\"",
                "name = \"cache\"\nready = { sql = \"SELECT 1\" }",
                "11: companion \"cache\": ready: sql needs protocol = \"mysql\" or \"postgres\", and an account",
            ),
            ("\"{{ pool }}\"]", "\"8\"]", "14: knob \"pool\" is not used"),
        ] {
            let error = refused(from, to);
            assert!(error.starts_with(expected), "{to}: {error}");
        }
        let alone = "title = \"T\"\n[server.a]\nstart = [\"a\", \"{{ companion.b.port }}\"]\n[load]\nprotocol = \"http\"\nslo = \
                     \"p99<1s\"\n[[load.op]]\npath = \"/\"\n";
        let error = read(alone).expect_err("it has no companion");
        assert!(
            error.contains("there is no companion \"b\": define it in [[server.NAME.companion]]"),
            "{error}"
        );
    }
}
