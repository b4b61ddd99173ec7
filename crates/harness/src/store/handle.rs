//! The store behind a thread of its own: transactions come one after the other, and nobody waits for it in a way that blocks a connection.
//!
//! What waits while a transaction is written goes together into the next one: a database whose transactions wait for the disk waits once
//! for all of them.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use tokio::sync::oneshot;

use super::{Database, StoreError, Transaction, Work};

/// The most pieces of work of one transaction: another server of the database waits so long for its turn.
const MOST_TOGETHER: usize = 64;

/// Hears whether the work is kept.
type Ended = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// What is done within a transaction; whether it is kept.
type Done = Box<dyn FnOnce(&mut dyn Transaction) -> bool + Send>;

/// A piece of work for the thread.
enum Job {
    /// Within a transaction.
    Transaction(Done, Ended),
    /// Wait until all that was done survives a power cut.
    MakeDurable(Ended),
}

/// Gives work to the thread of a database. It ends with the last of its clones.
#[derive(Clone, Debug)]
pub struct StoreHandle {
    jobs: Sender<Job>,
}

impl StoreHandle {
    /// Starts the thread.
    pub fn start(mut database: Box<dyn Database>) -> std::io::Result<Self> {
        let (jobs, waiting) = channel::<Job>();
        thread::Builder::new().name("store".to_owned()).spawn(move || {
            while let Ok(first) = waiting.recv() {
                work_off(&mut *database, first, &waiting);
            }
        })?;
        Ok(Self { jobs })
    }

    /// One transaction: all of `work`, or nothing of it.
    pub async fn transact<T, E>(
        &self,
        work: impl FnOnce(&mut dyn Transaction) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let done = Arc::new(Mutex::new(None));
        let result = Arc::clone(&done);
        let job = Job::Transaction(
            Box::new(move |rows| {
                let done = work(rows);
                let is_kept = done.is_ok();
                *result.lock().expect("no thread panics with it") = Some(done);
                is_kept
            }),
            Box::new(move |kept| {
                let done = done.lock().expect("no thread panics with it").take();
                // Whoever asked may have gone.
                let _ = answer.send(answer_of(kept, done));
            }),
        );
        self.send(job)?;
        answered.await.unwrap_or_else(|_| Err(gone().into()))
    }

    /// Waits until all that was done survives a power cut.
    pub async fn make_durable(&self) -> Result<(), StoreError> {
        let (answer, answered) = oneshot::channel();
        self.send(Job::MakeDurable(Box::new(move |done| drop(answer.send(done)))))?;
        answered.await.unwrap_or_else(|_| Err(gone()))
    }

    fn send(&self, job: Job) -> Result<(), StoreError> {
        self.jobs.send(job).map_err(|_| gone())
    }
}

/// What work has done, whose transaction has ended like this.
fn answer_of<T, E: From<StoreError>>(
    kept: Result<(), StoreError>,
    done: Option<Result<T, E>>,
) -> Result<T, E> {
    match (kept, done) {
        // What has failed by itself says why.
        (_, Some(Err(error))) => Err(error),
        (Ok(()), Some(Ok(value))) => Ok(value),
        (Err(error), _) => Err(error.into()),
        (Ok(()), None) => Err(StoreError::Failed("it has done nothing".to_owned()).into()),
    }
}

fn gone() -> StoreError {
    StoreError::Failed("its thread has ended: restart the server".to_owned())
}

/// Does a job, and those that wait behind it.
fn work_off(database: &mut dyn Database, first: Job, waiting: &Receiver<Job>) {
    let (mut work, mut ended, mut durable) = (Vec::new(), Vec::new(), Vec::new());
    for job in std::iter::once(first).chain(waiting.try_iter().take(MOST_TOGETHER - 1)) {
        match job {
            Job::Transaction(job, end) => {
                let mut job = Some(job);
                work.push(move |rows: &mut dyn Transaction| job.take().is_some_and(|job| job(rows)));
                ended.push(Some(end));
            }
            Job::MakeDurable(end) => durable.push(end),
        }
    }
    let mut each: Vec<Work<'_>> = work.iter_mut().map(|work| work as Work<'_>).collect();
    database.attempt_all(&mut each, &mut |index, kept| {
        if let Some(end) = ended[index].take() {
            end(kept);
        }
    });
    if !durable.is_empty() {
        let done = database.make_durable();
        for end in durable {
            end(done.clone());
        }
    }
}
