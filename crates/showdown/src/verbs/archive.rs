//! Verbs over runs that were held: `list`, `show`, `report`, `export`, `import`, `rm`, `archive reindex`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use archive::{Archive, Query, Run};
use clap::{Subcommand, ValueEnum};

use super::options::{Format, RunsDir};
use crate::exit::{Ending, usage};
use crate::print::print;
use crate::show;

/// Which run: its id, the beginning of one, a directory, or `latest`.
#[derive(clap::Args, Debug)]
pub struct WhichRun {
    /// A run: its id or the beginning of it, its directory, or `latest`
    #[arg(value_name = "RUN", default_value = "latest")]
    pub run: String,
    #[command(flatten)]
    pub runs: RunsDir,
}

/// Options of `showdown list`.
#[derive(clap::Args, Debug)]
pub struct ListArgs {
    /// Only runs whose id or verdict has this text
    #[arg(value_name = "TEXT")]
    pub text: Option<String>,
    /// Only runs of this workload
    #[arg(long)]
    pub workload: Option<String>,
    /// Only runs with this variant or server
    #[arg(long)]
    pub variant: Option<String>,
    /// Only runs with this tag
    #[arg(long)]
    pub tag: Option<String>,
    /// At most so many, the newest
    #[arg(short = 'n', long, default_value = "50")]
    pub limit: u32,
    /// How the answer is printed
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
    #[command(flatten)]
    pub runs: RunsDir,
}

/// Options of `showdown show`.
#[derive(clap::Args, Debug)]
pub struct ShowArgs {
    #[command(flatten)]
    pub which: WhichRun,
    /// How the answer is printed
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
}

/// Forms of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// One page that opens anywhere, also offline
    Html,
    /// For a pull request
    Md,
    /// A row a trial
    Csv,
    /// Everything, for programs
    Json,
}

/// Options of `showdown report`.
#[derive(clap::Args, Debug)]
pub struct ReportArgs {
    #[command(flatten)]
    pub which: WhichRun,
    /// Its form
    #[arg(long, value_enum, default_value = "html")]
    pub format: ReportFormat,
    /// Where to [default: report.html in the run directory; the other forms: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Options of `showdown export`.
#[derive(clap::Args, Debug)]
pub struct ExportArgs {
    #[command(flatten)]
    pub which: WhichRun,
    /// Where to [default: the run's id with its ending, here]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Options of `showdown import`.
#[derive(clap::Args, Debug)]
pub struct ImportArgs {
    /// A file that `showdown export` made
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    #[command(flatten)]
    pub runs: RunsDir,
}

/// Options of `showdown rm`.
#[derive(clap::Args, Debug)]
pub struct RemoveArgs {
    /// Runs: ids or the beginnings of them
    #[arg(value_name = "RUN", required = true)]
    pub run: Vec<String>,
    #[command(flatten)]
    pub runs: RunsDir,
}

/// Verbs of `showdown archive`.
#[derive(Subcommand, Debug)]
pub enum ArchiveVerb {
    /// Build the index of the runs anew from their directories
    Reindex(RunsDir),
}

/// `showdown list`.
pub fn list(args: &ListArgs) -> anyhow::Result<Ending> {
    let query = Query {
        text: args.text.clone(),
        workload: args.workload.clone(),
        variant: args.variant.clone(),
        tag: args.tag.clone(),
        limit: Some(args.limit),
        ..Query::default()
    };
    let listed = args.runs.archive().list(&query)?;
    args.format.print(&listed, || show::archive::list(&listed, &args.runs.runs))?;
    Ok(Ending::Success)
}

/// `showdown show`.
pub fn show(args: &ShowArgs) -> anyhow::Result<Ending> {
    let run = open(&args.which)?;
    match args.format {
        Format::Json => print(&report::json(&run)?)?,
        Format::Text => print(&show::archive::run(&run))?,
    }
    Ok(Ending::Success)
}

/// `showdown report`.
pub fn report(args: &ReportArgs) -> anyhow::Result<Ending> {
    let run = open(&args.which)?;
    let page = match args.format {
        ReportFormat::Html => report::html(&run)?,
        ReportFormat::Md => report::markdown(&run)?,
        ReportFormat::Csv => report::csv(&run)?,
        ReportFormat::Json => report::json(&run)?,
    };
    match (&args.output, args.format) {
        (Some(path), _) => write(path, page.as_bytes())?,
        (None, ReportFormat::Html) => {
            let path = run.dir.join(report::FILE_NAME);
            write(&path, page.as_bytes())?;
            print(&format!("{}\n", path.display()))?;
        }
        (None, _) => print(&page)?,
    }
    Ok(Ending::Success)
}

/// Makes a run's report where it belongs.
pub fn write_report(run: &Run) -> anyhow::Result<PathBuf> {
    let path = run.dir.join(report::FILE_NAME);
    write(&path, report::html(run)?.as_bytes())?;
    Ok(path)
}

/// Writes a whole file or none: what was there before stays if there is no room.
fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let written = tempfile::NamedTempFile::new_in(folder).and_then(|mut file| {
        file.write_all(bytes)?;
        file.persist(path)?;
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o644))
    });
    written.with_context(|| format!("{} cannot be written: make room, or give another -o", path.display()))
}

fn open(which: &WhichRun) -> anyhow::Result<Run> {
    Ok(which.runs.archive().open(&which.run)?)
}

/// `showdown export`.
pub fn export(args: &ExportArgs) -> anyhow::Result<Ending> {
    let run = open(&args.which)?;
    let home = Archive::new(run.dir.parent().unwrap_or(Path::new(".")));
    let path = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{}.tar.gz", run.id)));
    home.export(&run.id, &path)?;
    print(&format!("{}\n", path.display()))?;
    Ok(Ending::Success)
}

/// `showdown import`.
pub fn import(args: &ImportArgs) -> anyhow::Result<Ending> {
    let id = args.runs.archive().import(&args.file)?;
    print(&format!("{id}\n"))?;
    Ok(Ending::Success)
}

/// `showdown rm`.
pub fn remove(args: &RemoveArgs) -> anyhow::Result<Ending> {
    let archive = args.runs.archive();
    for text in &args.run {
        if text == "latest" {
            return Err(usage("rm takes ids: `latest` may be another run tomorrow"));
        }
        archive.remove(&archive.find(text)?)?;
    }
    Ok(Ending::Success)
}

/// `showdown archive`.
pub fn archive(verb: &ArchiveVerb) -> anyhow::Result<Ending> {
    let ArchiveVerb::Reindex(runs) = verb;
    let count = runs.archive().reindex()?;
    print(&format!("{count} runs indexed\n"))?;
    Ok(Ending::Success)
}
