//! Writes a run file by file, so that it can be read at any moment.
//!
//! The directory appears with its plan in it. The folder of a trial fills while the trial runs; `trial.json` is its last
//! file. `verdict.json` is the last file of the run. [`crate::Run`] derives the state of a run after a crash.

use crate::{
    error::{ArchiveError, Result},
    files::{self, AtomicFile},
    id::RunId,
    layout,
    model::{Concurrency, Explanation, Facts, Plan, Trial, TuningRecord, Verdict},
    telemetry::Telemetry,
};
use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// Writes one run. It locks the directory, so that other processes see the run as running. The kernel releases the
/// lock when the process ends for any reason.
#[derive(Debug)]
pub struct RunWriter {
    id: RunId,
    dir: PathBuf,
    lock: File,
}

impl RunWriter {
    /// Creates a run directory with its plan under `root`, and `root` itself if it is missing.
    ///
    /// The directory is created under a hidden name and renamed, so no run directory is without a plan.
    pub fn create(root: &Path, plan: &Plan, started: SystemTime) -> Result<Self> {
        fs::create_dir_all(root).map_err(ArchiveError::runs_folder(root))?;
        let text = plan_text(plan, root)?;
        let staged = tempfile::Builder::new()
            .prefix(layout::CREATING)
            .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .tempdir_in(root)
            .map_err(ArchiveError::runs_folder(root))?;
        let trials = staged.path().join(layout::TRIALS);
        fs::create_dir(&trials).map_err(ArchiveError::io(&trials))?;
        files::write(staged.path(), staged.path().join(layout::PLAN), text.as_bytes())?;
        let lock = File::open(staged.path()).map_err(ArchiveError::io(staged.path()))?;
        lock.lock().map_err(ArchiveError::io(staged.path()))?;
        let (id, dir) = loop {
            let names = plan.variants.iter().map(|variant| variant.name.as_str());
            let id = RunId::new(started, names, rand::random());
            let dir = root.join(id.as_str());
            match fs::rename(staged.path(), &dir) {
                Ok(()) => break (id, dir),
                // Another run of this second has the same salt: draw again.
                Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
                Err(error) => return Err(ArchiveError::io(dir)(error)),
            }
        };
        // The folder was renamed: there is nothing to delete.
        let _ = staged.keep();
        files::sync_folder(root).map_err(ArchiveError::io(root))?;
        Ok(Self { id, dir, lock })
    }

    /// Continues a run that was cut off, or writes a new verdict. Refused while another process writes the run.
    pub fn resume(dir: &Path) -> Result<Self> {
        let id = run_id_of(dir)?;
        let lock = lock(dir, &id)?;
        Ok(Self { id, dir: dir.to_path_buf(), lock })
    }

    /// Removes the verdict and these folders of trials, which are to be run again. The verdict goes first: without it
    /// the run is unfinished, so a crash in between leaves a run that can be resumed.
    pub fn discard(&self, folders: &[String]) -> Result<()> {
        let verdict = self.dir.join(layout::VERDICT);
        match fs::remove_file(&verdict) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(ArchiveError::io(&verdict)(error));
            }
            _ => files::sync_folder(&self.dir).map_err(ArchiveError::io(&self.dir))?,
        }
        for folder in folders {
            let path = files::inside(&self.dir, folder)?;
            fs::remove_dir_all(&path).map_err(ArchiveError::io(&path))?;
        }
        // Half a file that a killed process was writing. What cannot be removed does no harm.
        for entry in fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(files::STAGED) {
                let _ = fs::remove_file(entry.path());
            }
        }
        Ok(())
    }

    /// The run's id.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// The run directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Replaces `plan.toml`: the first block has decided what the plan left to it.
    pub fn plan(&self, plan: &Plan) -> Result<()> {
        let text = plan_text(plan, &self.dir)?;
        files::write(&self.dir, self.dir.join(layout::PLAN), text.as_bytes())
    }

    /// Writes `facts.json`.
    pub fn facts(&self, facts: &Facts) -> Result<()> {
        files::write_json(&self.dir, self.dir.join(layout::FACTS), facts)
    }

    /// Creates the folder of a trial. An existing folder, left by a crash, is deleted first: a trial is one start.
    pub fn begin_trial(&self, number: u32, variant: &str) -> Result<TrialWriter> {
        let folder = layout::trial_folder(number, variant);
        let path = self.dir.join(&folder);
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(ArchiveError::io(&path)(error));
            }
            _ => {}
        }
        let config = path.join(layout::CONFIG);
        fs::create_dir_all(&config).map_err(ArchiveError::io(&config))?;
        Ok(TrialWriter { run: self.dir.clone(), folder })
    }

    /// Writes the folded stacks of a variant; returns the file's name relative to the run directory.
    pub fn profile(&self, variant: &str, folded: &str) -> Result<String> {
        self.folded(layout::profile(variant), folded)
    }

    /// Writes the folded stacks of a variant's waits; returns the file's name relative to the run directory.
    pub fn waits(&self, variant: &str, folded: &str) -> Result<String> {
        self.folded(layout::waits(variant), folded)
    }

    fn folded(&self, name: String, folded: &str) -> Result<String> {
        let profiles = self.dir.join(layout::PROFILES);
        fs::create_dir_all(&profiles).map_err(ArchiveError::io(&profiles))?;
        files::write(&self.dir, self.dir.join(&name), folded.as_bytes())?;
        Ok(name)
    }

    /// Writes `explanation.json`; a run that explains is finished.
    pub fn explanation(&self, explanation: &Explanation) -> Result<()> {
        write_explanation(&self.dir, explanation)
    }

    /// Writes `concurrency.json`, after each step; a run of steps is finished when it is no longer being written.
    pub fn concurrency(&self, concurrency: &Concurrency) -> Result<()> {
        files::write_json(&self.dir, self.dir.join(layout::CONCURRENCY), concurrency)
    }

    /// Writes `verdict.json`; the run is finished.
    pub fn verdict(&self, verdict: &Verdict) -> Result<()> {
        files::write_json(&self.dir, self.dir.join(layout::VERDICT), verdict)
    }
}

/// Writes `explanation.json` of the run in this directory.
pub(crate) fn write_explanation(dir: &Path, explanation: &Explanation) -> Result<()> {
    files::write_json(dir, dir.join(layout::EXPLANATION), explanation)
}

/// Writes `tuning.json` of the run in this directory.
pub(crate) fn write_tuning(dir: &Path, record: &TuningRecord) -> Result<()> {
    files::write_json(dir, dir.join(layout::TUNING), record)
}

fn plan_text(plan: &Plan, directory: &Path) -> Result<String> {
    toml::to_string(plan).map_err(|error| ArchiveError::Unwritable {
        path: directory.join(layout::PLAN),
        problem: error.to_string(),
    })
}

/// Writes the folder of one trial.
#[derive(Debug, Clone)]
pub struct TrialWriter {
    run: PathBuf,
    folder: String,
}

impl TrialWriter {
    /// The trial's folder.
    pub fn dir(&self) -> PathBuf {
        self.run.join(&self.folder)
    }

    /// The name of a file in the folder, relative to the run directory, as in [`crate::model::TrialFiles`].
    pub fn name(&self, file: &str) -> String {
        format!("{}/{file}", self.folder)
    }

    /// The path of the server's log: a plain file that grows while the server runs.
    pub fn server_log(&self) -> PathBuf {
        self.dir().join(layout::SERVER_LOG)
    }

    /// Creates a file of the trial, such as [`layout::LOAD_LOG`]. It appears when it is committed.
    pub fn create(&self, file: &str) -> Result<AtomicFile> {
        AtomicFile::create(&self.run, files::inside(&self.dir(), file)?)
    }

    /// Writes a whole file of the trial; returns its name relative to the run directory.
    pub fn write(&self, file: &str, bytes: &[u8]) -> Result<String> {
        files::write(&self.run, files::inside(&self.dir(), file)?, bytes)?;
        Ok(self.name(file))
    }

    /// Copies a configuration file of the server to the trial; returns its name relative to the run directory.
    pub fn copy_config(&self, source: &Path) -> Result<String> {
        let name = source
            .file_name()
            .and_then(|name| name.to_str())
            .ok_or_else(|| ArchiveError::OutsideRun { name: source.display().to_string() })?;
        let bytes = fs::read(source).map_err(ArchiveError::io(source))?;
        self.write(&format!("{}/{name}", layout::CONFIG), &bytes)
    }

    /// Writes the telemetry of the server's host; returns its name relative to the run directory.
    pub fn telemetry(&self, telemetry: &Telemetry) -> Result<String> {
        self.write_telemetry(layout::TELEMETRY, telemetry)
    }

    /// Writes the telemetry of a host that made the load; without a name, of this machine where the server is elsewhere.
    pub fn client_telemetry(&self, host: Option<&str>, telemetry: &Telemetry) -> Result<String> {
        match host {
            Some(host) => self.write_telemetry(&layout::telemetry_of_client(host), telemetry),
            None => self.write_telemetry(layout::CLIENT_TELEMETRY, telemetry),
        }
    }

    /// Writes the watts of each meter.
    pub fn power(&self, watts: &Telemetry) -> Result<String> {
        self.write_telemetry(layout::POWER, watts)
    }

    /// Writes the steps of a trial that measures the breaking point.
    pub fn concurrency(&self, steps: &Concurrency) -> Result<String> {
        files::write_json(&self.run, self.dir().join(layout::CONCURRENCY), steps)?;
        Ok(self.name(layout::CONCURRENCY))
    }

    fn write_telemetry(&self, name: &str, telemetry: &Telemetry) -> Result<String> {
        let path = self.dir().join(name);
        let bytes = telemetry
            .to_parquet()
            .map_err(|source| ArchiveError::Telemetry { path: path.clone(), source })?;
        files::write(&self.run, path, &bytes)?;
        Ok(self.name(name))
    }

    /// Writes `trial.json`; the trial is complete.
    pub fn finish(&self, trial: &Trial) -> Result<()> {
        files::write_json(&self.run, self.dir().join(layout::TRIAL), trial)
    }
}

/// The id of a run directory, from its name.
pub(crate) fn run_id_of(dir: &Path) -> Result<RunId> {
    // A path such as `.` or `runs/x/..` must be resolved before its last name is known.
    let resolved = dir.canonicalize().map_err(ArchiveError::io(dir))?;
    let name = resolved.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(name.parse()?)
}

impl Drop for RunWriter {
    /// Releases the lock also for a process that another thread is just forking, which has a copy of the open directory
    /// until it becomes its program.
    fn drop(&mut self) {
        let _ = self.lock.unlock();
    }
}

/// Locks a run for this process.
///
/// A reader locks the directory for a moment to check whether the run is running, so this retries.
pub(crate) fn lock(dir: &Path, id: &RunId) -> Result<File> {
    let handle = File::open(dir).map_err(ArchiveError::io(dir))?;
    for _ in 0..LOCK_ATTEMPTS {
        match handle.try_lock() {
            Ok(()) => return Ok(handle),
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_RETRY_INTERVAL),
            Err(TryLockError::Error(error)) => return Err(ArchiveError::io(dir)(error)),
        }
    }
    Err(ArchiveError::Running { id: id.clone() })
}

const LOCK_ATTEMPTS: u32 = 20;
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(5);
