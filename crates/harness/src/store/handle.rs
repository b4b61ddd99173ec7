//! The store as the server uses it: one thread does all transactions, one after the other, and nobody waits for it in a way that
//! blocks a connection.

use std::sync::mpsc::{Sender, channel};
use std::thread;

use tokio::sync::oneshot;

use super::{Database, StoreError, Transaction};

/// A piece of work for the thread.
type Job = Box<dyn FnOnce(&mut Box<dyn Database>) + Send>;

/// Gives work to the thread of a database. It ends with the last of its clones.
#[derive(Clone, Debug)]
pub struct StoreHandle {
    jobs: Sender<Job>,
}

impl StoreHandle {
    /// Starts the thread.
    pub fn start(mut database: Box<dyn Database>) -> std::io::Result<Self> {
        let (jobs, work) = channel::<Job>();
        thread::Builder::new().name("store".to_owned()).spawn(move || {
            for job in work {
                job(&mut database);
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
        self.ask(|database| database.transact(work)).await
    }

    /// Waits until all that was done survives a power cut.
    pub async fn make_durable(&self) -> Result<(), StoreError> {
        self.ask(Database::make_durable).await
    }

    async fn ask<T, E>(
        &self,
        work: impl FnOnce(&mut Box<dyn Database>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move |database| {
            // Whoever asked may have gone.
            let _ = answer.send(work(database));
        });
        let gone = StoreError::Failed("its thread has ended: restart the server".to_owned());
        if self.jobs.send(job).is_err() {
            return Err(gone.into());
        }
        answered.await.unwrap_or_else(|_| Err(gone.into()))
    }
}
