//! Many readers, each with a connection and a snapshot of its own.

use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender};
use rowmill_store::{Result, StoreError};
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::backend;

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// A pool of threads that read.
#[derive(Debug)]
pub(crate) struct Readers {
    jobs: Sender<Job>,
    _threads: Vec<JoinHandle<()>>,
}

impl Readers {
    pub(crate) fn start(name: &str, connections: Vec<Connection>) -> Result<Self> {
        let (jobs, queue) = crossbeam_channel::unbounded();
        let threads = connections
            .into_iter()
            .map(|connection| {
                let queue: Receiver<Job> = queue.clone();
                std::thread::Builder::new()
                    .name(name.to_owned())
                    .spawn(move || serve(connection, &queue))
                    .map_err(|error| StoreError::Backend(error.into()))
            })
            .collect::<Result<_>>()?;
        Ok(Self { jobs, _threads: threads })
    }

    /// Runs `work` in a read transaction: all it sees is of one moment.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move |connection| {
            let outcome = connection.transaction().map_err(backend).and_then(|snapshot| work(&snapshot));
            // A caller that has gone away wants no answer.
            let _ = answer.send(outcome);
        });
        self.jobs.send(job).map_err(|_| StoreError::Closed)?;
        answered.await.map_err(|_| StoreError::Backend("a read panicked".into()))?
    }
}

fn serve(mut connection: Connection, queue: &Receiver<Job>) {
    while let Ok(job) = queue.recv() {
        // A panic must not cost the pool a thread; the caller is told by the dropped answer.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| job(&mut connection)));
    }
}
