//! Verbs for runs in the archive: `list`, `show`, `report`, `export`, `import`, `rm`, `archive reindex`.

use std::path::{Path, PathBuf};

use archive::{AnonymousRun, Archive, ArchiveError, Query, Run, RunId, RunState};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Subcommand, ValueEnum};
use traffic::shift::{StoredShift, remove_all};
use tune::bakeoff_lab;

use crate::args::options::{AnswerFormat, RunsDir};
use crate::exit::{CommandStatus, usage};
use crate::identity;
use crate::output_file::{self, OutputFile};
use crate::print::{note, print, print_json, print_text};
use crate::show;
use crate::show::layout::units::plural;
use crate::verbs::results::shifts::{self, NamedRun};

/// A run by its id, a unique part of its id, its directory, or `latest`.
#[derive(clap::Args, Debug)]
pub struct WhichRun {
    /// Choose a run: its id, a part of its id that no other run has, its directory, or `latest`
    #[arg(value_name = "RUN", default_value = "latest")]
    pub run: String,
    #[command(flatten)]
    pub runs: RunsDir,
}

/// Options of `showdown list`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  showdown list
  showdown list nginx --workload static-web -n 5
  showdown list --state interrupted
  showdown list --tag kernel-6.12 --format json")]
pub struct ListArgs {
    /// List only runs whose id or verdict contains this text
    #[arg(value_name = "TEXT")]
    pub text: Option<String>,
    /// List only runs of this workload, such as static-web
    #[arg(long)]
    pub workload: Option<String>,
    /// List only runs with this variant or server, such as nginx
    #[arg(long)]
    pub variant: Option<String>,
    /// List only runs with this tag
    #[arg(long)]
    pub tag: Option<String>,
    /// List only runs in this state
    #[arg(long, value_parser = states())]
    pub state: Option<RunState>,
    /// List at most this many runs, the newest
    #[arg(short = 'n', long, default_value = "50")]
    pub limit: u32,
    /// Print the answer as text or as JSON
    #[arg(long, value_enum, default_value = "text")]
    pub format: AnswerFormat,
    #[command(flatten)]
    pub runs: RunsDir,
}

/// Parses the name of a state.
fn states() -> impl TypedValueParser<Value = RunState> {
    PossibleValuesParser::new(RunState::ALL.map(RunState::name))
        .map(|name| RunState::from_name(&name).expect("it is the name of one of them"))
}

/// Options of `showdown show`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  showdown show
  showdown show 20261121T0051")]
pub struct ShowArgs {
    #[command(flatten)]
    pub which: WhichRun,
    /// Print the answer as text or as JSON
    #[arg(long, value_enum, default_value = "text")]
    pub format: AnswerFormat,
}

/// The form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// One page that opens in any browser, also offline
    Html,
    /// Markdown for a pull request
    Md,
    /// One row for each trial
    Csv,
    /// All data, for programs
    Json,
    /// Each variant's value for Bencher (bencher.dev), in its own metric format
    Bencher,
    /// Each variant's value for github-action-benchmark, as a custom benchmark
    GithubBenchmark,
}

/// Options of `showdown report`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  showdown report
  showdown report 20261121T0051 --format md
  showdown report latest --format csv -o trials.csv
  showdown report latest --format bencher -o results.json
  showdown report latest --targets targets.toml")]
pub struct ReportArgs {
    #[command(flatten)]
    pub which: WhichRun,
    /// Choose the form
    #[arg(long, value_enum, default_value = "html")]
    pub format: ReportFormat,
    /// Write to this file, or to standard output with `-` [default: report.html in the run directory; standard output
    /// for other forms]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Add a section of what the variants cost, with prices and watts from this file (docs/COST.md)
    #[arg(long, value_name = "FILE")]
    pub targets: Option<PathBuf>,
}

/// Options of `showdown export`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  showdown export
  showdown export 20261121T0051 -o run.tar.gz
  showdown export latest --anonymous -o run.tar.gz")]
pub struct ExportArgs {
    #[command(flatten)]
    pub which: WhichRun,
    /// Write to this file, or to standard output with `-` [default: the run's id with .tar.gz, in the current directory]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace names of the host and of users, directories, addresses and serial numbers in every file, to publish the run
    #[arg(long)]
    pub anonymous: bool,
}

/// Options of `showdown import`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  showdown import run.tar.gz")]
pub struct ImportArgs {
    /// Read this file, which `showdown export` has written
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    #[command(flatten)]
    pub runs: RunsDir,
}

/// Options of `showdown rm`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  showdown rm 20261121T0051 20261122T1030")]
pub struct RemoveArgs {
    /// Remove these runs: ids, or beginnings of ids that no other run has; not `latest`, and no other part, because a removed run is
    /// gone
    #[arg(value_name = "RUN", required = true)]
    pub run: Vec<String>,
    #[command(flatten)]
    pub runs: RunsDir,
}

/// Verbs of `showdown archive`.
#[derive(Subcommand, Debug)]
#[command(after_help = "\
Examples:
  showdown archive reindex")]
pub enum ArchiveVerb {
    /// Rebuild the index of the runs from their directories
    #[command(after_help = "\
Examples:
  showdown archive reindex
  showdown archive reindex --runs /srv/runs")]
    Reindex(RunsDir),
}

/// `showdown list`.
pub fn list(args: &ListArgs) -> anyhow::Result<CommandStatus> {
    let query = Query {
        text: args.text.clone(),
        workload: args.workload.clone(),
        variant: args.variant.clone(),
        tags: args.tag.iter().cloned().collect(),
        state: args.state,
        limit: Some(args.limit),
        ..Query::default()
    };
    let listed = shifts::list(&args.runs.archive(), &query)?;
    args.format.print(&listed, || show::archive::list(&listed, &args.runs.runs))?;
    Ok(CommandStatus::Success)
}

/// `showdown show`.
pub fn show(args: &ShowArgs) -> anyhow::Result<CommandStatus> {
    if let Some(shift) = shifts::find(&args.which.run, &args.which.runs.archive())? {
        shifts::show(&shift, args.format)?;
        return Ok(CommandStatus::Success);
    }
    let run = open(&args.which)?;
    match args.format {
        AnswerFormat::Json => print_json(&report::json(&run)?)?,
        AnswerFormat::Text => print_text(&show::archive::run(&run))?,
    }
    Ok(CommandStatus::Success)
}

/// `showdown report`.
pub fn report(args: &ReportArgs) -> anyhow::Result<CommandStatus> {
    if args.targets.is_some() && args.format != ReportFormat::Html {
        return Err(usage("--targets goes with --format html: `showdown cost` prints text and JSON"));
    }
    if let Some(shift) = shifts::find(&args.which.run, &args.which.runs.archive())? {
        report_of_shift(&shift, args)?;
        return Ok(CommandStatus::Success);
    }
    let run = open(&args.which)?;
    let page = match args.format {
        ReportFormat::Html => page_of(&run, args.targets.as_deref())?,
        ReportFormat::Md => report::markdown(&run)?,
        ReportFormat::Csv => report::csv(&run)?,
        ReportFormat::Json => report::json(&run)?,
        ReportFormat::Bencher => report::bencher(&run)?,
        ReportFormat::GithubBenchmark => report::github_benchmark(&run)?,
    };
    match (&args.output, args.format) {
        (Some(path), _) => output_file::write("-o", path, page.as_bytes())?,
        (None, ReportFormat::Html) => {
            let path = report::write_page(&run, &page)?;
            print(&format!("{}\n", path.display()))?;
        }
        (None, ReportFormat::Json | ReportFormat::Bencher | ReportFormat::GithubBenchmark) => {
            print_json(&page)?;
        }
        (None, ReportFormat::Md | ReportFormat::Csv) => print(&page)?,
    }
    Ok(CommandStatus::Success)
}

/// The report of a run on live traffic.
fn report_of_shift(shift: &StoredShift, args: &ReportArgs) -> anyhow::Result<()> {
    if args.targets.is_some() {
        return Err(usage("--targets prices a comparison, and this is a run on live traffic: leave it out"));
    }
    let content = match args.format {
        ReportFormat::Html => shift.page()?,
        ReportFormat::Json => shifts::json(shift)?,
        ReportFormat::Md | ReportFormat::Csv | ReportFormat::Bencher | ReportFormat::GithubBenchmark => {
            return Err(usage(
                "a run on live traffic has the forms html and json: its seconds are in windows.jsonl",
            ));
        }
    };
    match (&args.output, args.format) {
        (Some(path), _) => output_file::write("-o", path, content.as_bytes())?,
        (None, ReportFormat::Html) => print(&format!("{}\n", shift.write_page()?.display()))?,
        (None, _) => print_json(&content)?,
    }
    Ok(())
}

/// The page, with a section of costs where a file of targets is named.
fn page_of(run: &Run, targets: Option<&Path>) -> anyhow::Result<String> {
    let costs = targets.map(|path| super::cost::costs(std::slice::from_ref(run), path)).transpose()?;
    Ok(report::page_of(run, costs.as_ref())?)
}

fn open(which: &WhichRun) -> anyhow::Result<Run> {
    Ok(which.runs.archive().open(&which.run)?)
}

/// `showdown export`.
pub fn export(args: &ExportArgs) -> anyhow::Result<CommandStatus> {
    shifts::refuse_export(&args.which.run, &args.which.runs.archive())?;
    let run = open(&args.which)?;
    let home = Archive::new(run.dir.parent().unwrap_or(Path::new(".")));
    let anonymous = args.anonymous.then(|| home.anonymous(&run.id, &identity::of_this_machine()));
    let anonymous = anonymous.transpose()?;
    let id = anonymous.as_ref().map_or(&run.id, AnonymousRun::id);
    let path = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{id}.tar.gz")));
    let mut file = OutputFile::create("-o", &path)?;
    let exported = match anonymous {
        Some(anonymous) => anonymous.export(&mut file),
        None => home.export(&run.id, &mut file),
    };
    exported.map_err(|error| match error {
        ArchiveError::Packing(error) => file.error(error).into(),
        other => anyhow::Error::from(other),
    })?;
    file.commit()?;
    if path != Path::new("-") {
        print(&format!("{}\n", path.display()))?;
    }
    Ok(CommandStatus::Success)
}

/// `showdown import`.
pub fn import(args: &ImportArgs) -> anyhow::Result<CommandStatus> {
    let id = args.runs.archive().import(&args.file)?;
    print(&format!("{id}\n"))?;
    Ok(CommandStatus::Success)
}

/// `showdown rm`.
pub fn remove(args: &RemoveArgs) -> anyhow::Result<CommandStatus> {
    let archive = args.runs.archive();
    let (mut ids, mut of_shifts) = (Vec::new(), Vec::new());
    for text in &args.run {
        if text == "latest" {
            return Err(usage(
                "rm takes no `latest`, which is another run after each run: give the id, or its beginning (`showdown list`)",
            ));
        }
        match shifts::find_to_remove(text, &archive)? {
            NamedRun::Archived(id) if !ids.contains(&id) => ids.push(id),
            NamedRun::Shift(id, directory) if !of_shifts.contains(&(id.clone(), directory.clone())) => {
                of_shifts.push((id, directory));
            }
            NamedRun::Archived(_) | NamedRun::Shift(..) => {}
        }
    }
    let mut removed = Vec::new();
    // Each kind is refused as a whole where one of its runs goes on.
    let result = remove_both(&archive, &ids, &of_shifts, &mut |id| removed.push(format!("removed {id}\n")));
    // Also after a failure: the user must know what is gone.
    print(&removed.concat())?;
    result?;
    Ok(CommandStatus::Success)
}

fn remove_both(
    archive: &Archive,
    ids: &[RunId],
    of_shifts: &[(RunId, PathBuf)],
    removed: &mut dyn FnMut(&RunId),
) -> anyhow::Result<()> {
    remove_all(of_shifts, removed)?;
    Ok(archive.remove_all(ids, removed)?)
}

/// `showdown archive`.
pub fn archive(verb: &ArchiveVerb) -> anyhow::Result<CommandStatus> {
    let ArchiveVerb::Reindex(runs) = verb;
    let archive = runs.archive();
    for search in archive.abandoned_searches()? {
        // One that cannot be moved stays for the next time.
        if let Some(first) = bakeoff_lab::first_run(&search)
            && let Ok(dir) = bakeoff_lab::keep(&search, &first, archive.root())
        {
            note(&format!("what a search that was killed has measured is kept in {}", dir.display()));
        }
    }
    let count = archive.reindex()?;
    print(&format!("{} indexed\n", plural(count as u64, "run")))?;
    Ok(CommandStatus::Success)
}
