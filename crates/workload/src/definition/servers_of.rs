//! `servers_of`: a workload can use the servers of another workload with operations of its own. It gets their templates
//! and knobs, and also the files that they serve unless it has a `[data]` of its own.

use load::drivers::RegisteredProtocol;
use toml::Spanned;

use super::source::raw::RawSharedServers;
use crate::folder::{DEFINITION, Folder};
use notation::source_text::{FileError, SourceText};

/// The workload that defines the servers.
pub(super) struct ServerOwner {
    /// Its folder.
    pub folder: Folder,
    label: String,
    text: String,
}

impl ServerOwner {
    /// Finds it by the name of its folder: next to the folder `user` of the workload that names it, or built in.
    pub fn find(name: &Spanned<String>, user: &Folder, source: SourceText<'_>) -> Result<Self, FileError> {
        let neighbour = user.directory().and_then(|directory| {
            let absolute = std::path::absolute(directory).ok()?;
            let path = absolute.parent()?.join(name.get_ref());
            path.join(DEFINITION).is_file().then_some(Folder::Disk(path))
        });
        let missing = || {
            let what = format!("servers_of: there is no workload {:?}: give the name of one", name.get_ref());
            source.error(&name.span(), what)
        };
        let folder = neighbour.or_else(|| Folder::built_in(name.get_ref())).ok_or_else(missing)?;
        let label = folder.label(DEFINITION);
        let refused = |why: std::io::Error| source.error(&name.span(), format!("servers_of: {label}: {why}"));
        let text = folder.read(DEFINITION).map_err(refused)?;
        Ok(Self { folder, label, text })
    }

    /// Its file, for errors.
    pub fn source(&self) -> SourceText<'_> {
        SourceText { file: &self.label, text: &self.text }
    }

    /// Its servers and data, for a workload whose operations are of the same kind. `name` is the value of `servers_of`
    /// in `source`.
    pub fn servers(
        &self,
        protocol: RegisteredProtocol,
        name: &Spanned<String>,
        source: SourceText<'_>,
    ) -> Result<RawSharedServers, FileError> {
        let shared: RawSharedServers =
            toml::from_str(&self.text).map_err(|e| self.source().toml_error(&e))?;
        let refused = |what: &str| {
            let what = format!("servers_of: {:?} {what}", name.get_ref());
            Err(source.error(&name.span(), what))
        };
        if shared.servers_of.is_some() {
            return refused("has servers_of itself: name the workload that defines the servers");
        }
        if !shared.load.protocol.shares_mix_with(protocol) {
            return refused("has operations of another kind, so its servers cannot run these");
        }
        Ok(shared)
    }
}

#[cfg(test)]
mod tests {
    use crate::Catalogue;
    use crate::definition::Workload;
    use crate::folder::{DEFINITION, Folder};

    const LOAD: &str = "[load]\nprotocol = \"http\"\nslo = \"p99<5ms\"\n[[load.op]]\npath = \"/1k\"\n";

    fn read(head: &str, load: &str) -> Result<Workload, String> {
        let folder = tempfile::tempdir().expect("the directory is created");
        let text = format!("title = \"T\"\n{head}\n{load}");
        std::fs::write(folder.path().join(DEFINITION), text).expect("the file is written");
        Workload::read(&Folder::Disk(folder.path().to_owned()), DEFINITION).map_err(|e| e.to_string())
    }

    #[test]
    fn servers_of_another_workload_come_with_their_knobs_and_files() -> Result<(), Box<dyn std::error::Error>>
    {
        let user = read("servers_of = \"static-web\"", LOAD)?;
        let owner = Catalogue::with("/nowhere").find("static-web")?;
        assert!(user.uses_servers_of_another() && !owner.uses_servers_of_another());
        assert_eq!(user.server("nginx")?.knobs, owner.server("nginx")?.knobs);
        assert_eq!(user.data, owner.data);
        assert!(owner.server("nginx")?.knob("certificate").is_err());
        let secured = read("servers_of = \"static-web\"", &LOAD.replace("slo", "tls = true\nslo"))?;
        assert!(secured.server("apache")?.knob("certificate").is_ok());
        Ok(())
    }

    #[test]
    fn servers_that_cannot_be_used_are_refused_with_the_line() {
        let own = "[server.a]\nstart = [\"a\", \"{{ port }}\"]";
        for (head, said) in [
            ("servers_of = \"statik-web\"", ":2: servers_of: there is no workload \"statik-web\""),
            ("servers_of = \"cache\"", ":2: servers_of: \"cache\" has operations of another kind"),
            ("servers_of = \"tls\"", ":2: servers_of: \"tls\" has servers_of itself"),
            (
                &format!("servers_of = \"static-web\"\n{own}"),
                ": a workload with servers_of defines no servers",
            ),
        ] {
            let error = read(head, LOAD).expect_err(head);
            assert!(error.contains(said), "{error}");
        }
        let error =
            read(own, &LOAD.replace("slo", "tls = true\nslo")).expect_err("the server uses no certificate");
        assert!(error.contains("server \"a\": the load uses TLS: use {{ https.certificate }}"), "{error}");
        let error =
            read(own, &LOAD.replace("slo", "alone = \"x\"\nslo")).expect_err("there is no operation x");
        assert!(error.contains("alone: there is no operation \"x\""), "{error}");
    }
}
