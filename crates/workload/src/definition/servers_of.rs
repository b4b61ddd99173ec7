//! Another workload's servers: one that asks something else of the same servers borrows them, with their templates and
//! knobs (and the files that they serve, unless it has its own), and so nothing of them is written twice.

use toml::Spanned;

use super::protocol::Protocol;
use super::raw::RawSharedServers;
use super::source_text::{DefinitionError, SourceText};
use crate::folder::{DEFINITION, Folder};

/// The workload that servers are borrowed of.
pub(super) struct ServerOwner {
    /// Where it is.
    pub folder: Folder,
    label: String,
    text: String,
}

impl ServerOwner {
    /// Finds it by the name of its folder: beside that of the borrower, or among those that come with the program.
    pub fn find(
        name: &Spanned<String>,
        borrower: &Folder,
        source: SourceText<'_>,
    ) -> Result<Self, DefinitionError> {
        let beside = borrower.directory().and_then(|directory| {
            let whole = std::path::absolute(directory).ok()?;
            let path = whole.parent()?.join(name.get_ref());
            path.join(DEFINITION).is_file().then_some(Folder::Disk(path))
        });
        let missing = || {
            let what = format!("servers_of: there is no workload {:?}: give the name of one", name.get_ref());
            source.error(&name.span(), what)
        };
        let folder = beside.or_else(|| Folder::built_in(name.get_ref())).ok_or_else(missing)?;
        let label = folder.label(DEFINITION);
        let refused = |why: String| source.error(&name.span(), format!("servers_of: {label}: {why}"));
        let text = folder.read(DEFINITION).map_err(refused)?;
        Ok(Self { folder, label, text })
    }

    /// Its file, for messages.
    pub fn source(&self) -> SourceText<'_> {
        SourceText { file: &self.label, text: &self.text }
    }

    /// What it lends, to one whose operations are of the same kind; `name` is where the borrower names it.
    pub fn lend(
        &self,
        protocol: Protocol,
        name: &Spanned<String>,
        source: SourceText<'_>,
    ) -> Result<RawSharedServers, DefinitionError> {
        let lent: RawSharedServers = toml::from_str(&self.text).map_err(|e| self.source().toml_error(&e))?;
        let refused = |what: &str| {
            let what = format!("servers_of: {:?} {what}", name.get_ref());
            Err(source.error(&name.span(), what))
        };
        if lent.servers_of.is_some() {
            return refused("borrows its servers itself: name the workload that has them");
        }
        if lent.load.protocol.kind() != protocol.kind() {
            return refused("has operations of another kind: its servers cannot do these");
        }
        Ok(lent)
    }
}

#[cfg(test)]
mod tests {
    use crate::Catalogue;
    use crate::definition::Workload;
    use crate::folder::{DEFINITION, Folder};

    const LOAD: &str = "[load]\nprotocol = \"http\"\nslo = \"p99<5ms\"\n[[load.op]]\npath = \"/1k\"\n";

    fn read(head: &str, load: &str) -> Result<Workload, String> {
        let folder = tempfile::tempdir().expect("there is a place for temporary files");
        let text = format!("title = \"T\"\n{head}\n{load}");
        std::fs::write(folder.path().join(DEFINITION), text).expect("it can be written");
        Workload::read(&Folder::Disk(folder.path().to_owned()), DEFINITION).map_err(|e| e.to_string())
    }

    #[test]
    fn servers_are_borrowed_with_their_files_and_not_found_twice() -> Result<(), String> {
        let borrowed = read("servers_of = \"static-web\"", LOAD)?;
        let lender = Catalogue::with("/nowhere").find("static-web").map_err(|e| e.to_string())?;
        assert!(borrowed.uses_servers_of_another() && !lender.uses_servers_of_another());
        assert_eq!(borrowed.server("nginx")?.knobs, lender.server("nginx")?.knobs);
        assert_eq!(borrowed.data, lender.data);
        assert!(lender.server("nginx")?.knob("certificate").is_err());
        let secured = read("servers_of = \"static-web\"", &LOAD.replace("slo", "tls = true\nslo"))?;
        assert!(secured.server("apache")?.knob("certificate").is_ok());
        Ok(())
    }

    #[test]
    fn what_cannot_be_borrowed_is_refused_with_its_line() {
        let own = "[server.a]\nstart = [\"a\"]";
        for (head, said) in [
            ("servers_of = \"statik-web\"", ":2: servers_of: there is no workload \"statik-web\""),
            ("servers_of = \"cache\"", ":2: servers_of: \"cache\" has operations of another kind"),
            ("servers_of = \"tls\"", ":2: servers_of: \"tls\" borrows its servers itself"),
            (
                &format!("servers_of = \"static-web\"\n{own}"),
                ": servers_of: the servers are another workload's",
            ),
        ] {
            let error = read(head, LOAD).expect_err(head);
            assert!(error.contains(said), "{error}");
        }
        let error = read(own, &LOAD.replace("slo", "tls = true\nslo")).expect_err("no certificate");
        assert!(error.contains("server \"a\": the load is over TLS: use {{ https.certificate }}"), "{error}");
        let error = read(own, &LOAD.replace("slo", "alone = \"x\"\nslo")).expect_err("no such operation");
        assert!(error.contains("alone: there is no operation \"x\""), "{error}");
    }
}
