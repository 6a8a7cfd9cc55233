//! Runs imports in the background: claims a job, reads its file from the store, and imports it as if it came in.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use parking_lot::Mutex;
use rowmill_app::{App, IMPORT_RENEWAL, ImportJob, ImportStatus};
use rowmill_clock::{Clock as _, SystemClock};
use rowmill_fairness::Tenant;
use tokio::task::JoinHandle;
use uuid::Uuid;

use crate::error::Error;
use crate::files::incoming::{Format, Incoming};
use crate::import_request::FileRequest;
use crate::importing::{JobSteps, RowImporter, read_file};
use crate::wire::import_job::{JobFailure, JobOutcome};

/// Imports that one process runs at once. Their batches take turns with all other writes.
const AT_ONCE: usize = 4;
/// Those of them that only a team may take of which none runs, so that one team's long files leave room for others.
const RESERVED: usize = 2;
/// How often a job is claimed that does not come on. The process may have died of it.
const CLAIMS_MAX: u32 = 5;
/// When a job is tried again that failed for a reason of the server's.
const PAUSE: Duration = Duration::from_secs(2);

/// The imports that this process runs.
#[derive(Debug)]
pub struct ImportRunner {
    app: Arc<App>,
    holder: Uuid,
    tasks: Vec<JoinHandle<()>>,
}

impl ImportRunner {
    /// `holder` names this process.
    pub fn start(app: Arc<App>, holder: Uuid) -> Self {
        let running_max = |slot| if slot < RESERVED { 0 } else { u32::MAX };
        let tasks = (0..AT_ONCE)
            .map(|slot| tokio::spawn(work(Arc::clone(&app), holder, running_max(slot))))
            .collect();
        Self { app, holder, tasks }
    }

    /// Stops where it is, and lets others go on at once. A batch that is being written is written or not, and the job
    /// knows which.
    pub async fn stop(self) {
        self.tasks.iter().for_each(JoinHandle::abort);
        for task in self.tasks {
            let _ = task.await;
        }
        if let Err(failure) = self.app.leave_imports(self.holder).await {
            tracing::warn!(%failure, "could not hand on imports; others go on with them in a few seconds");
        }
    }
}

async fn work(app: Arc<App>, holder: Uuid, running_max: u32) {
    loop {
        match app.claim_import(holder, running_max).await {
            Ok(Some(job)) => {
                let tenant = Tenant::team(job.team.0.as_u128());
                tenant.scope(hold(&app, holder, &job)).await;
            }
            Ok(None) => {}
            Err(failure) => {
                tracing::warn!(%failure, "could not look for imports; it is tried again");
                SystemClock.sleep(PAUSE).await;
            }
        }
    }
}

/// Runs a job for as long as it is ours.
async fn hold(app: &Arc<App>, holder: Uuid, job: &ImportJob) {
    let lost = async {
        loop {
            SystemClock.sleep(IMPORT_RENEWAL).await;
            // If the store does not answer, the next batch will say so.
            if matches!(app.renew_import(job, holder).await, Ok(false)) {
                return;
            }
        }
    };
    let ended = tokio::select! {
        ended = run(app, holder, job) => ended,
        () = lost => return,
    };
    if let Err(failure) = conclude(app, holder, job, ended).await {
        tracing::warn!(%failure, import = %job.id, "could not end an import; it is tried again");
        SystemClock.sleep(PAUSE).await;
    }
}

async fn run(app: &Arc<App>, holder: Uuid, job: &ImportJob) -> Result<JobOutcome, Error> {
    if job.claims > CLAIMS_MAX {
        return Ok(given_up());
    }
    let request = FileRequest::read(&job.request)?;
    let headers = request.headers();
    let format = Format::of(&headers)?;
    let options = request.query.options(app.limits())?;
    let import = app.resume_import(job, request.key, request.scopes, options).await?;
    let (bytes_read, failure) =
        (Arc::<AtomicU64>::default(), Arc::<Mutex<Option<rowmill_app::Error>>>::default());
    let body = file(app, job, Arc::clone(&bytes_read), Arc::clone(&failure));
    let mut incoming = Incoming::new(&headers, body, app.limits())?;
    let steps = JobSteps::new(job, holder, &import, bytes_read);
    let mut importer = RowImporter::new(app, app.limits(), import, Some(steps));
    let read = read_file(&mut importer, &mut incoming, format, &request.query).await;
    // A file that the store does not give is not a file that ends early.
    if let Some(failure) = failure.lock().take() {
        return Err(failure.into());
    }
    read?;
    Ok(JobOutcome { stopped: importer.finish().stopped, error: None })
}

/// A job's file, as if it were being sent.
fn file(
    app: &Arc<App>,
    job: &ImportJob,
    bytes_read: Arc<AtomicU64>,
    failure: Arc<Mutex<Option<rowmill_app::Error>>>,
) -> Body {
    let (app, id) = (Arc::clone(app), job.id);
    let parts = stream::try_unfold(0_u32, move |number| {
        let (app, bytes_read, failure) = (Arc::clone(&app), Arc::clone(&bytes_read), Arc::clone(&failure));
        async move {
            match app.import_part(id, number).await {
                Ok(None) => Ok(None),
                Ok(Some(bytes)) => {
                    bytes_read.fetch_add(u64::try_from(bytes.len()).unwrap_or_default(), Ordering::Relaxed);
                    Ok(Some((Bytes::from(bytes), number + 1)))
                }
                Err(error) => {
                    *failure.lock() = Some(error);
                    Err(std::io::Error::other("the store does not give the file"))
                }
            }
        }
    });
    Body::from_stream(parts)
}

async fn conclude(
    app: &App,
    holder: Uuid,
    job: &ImportJob,
    ended: Result<JobOutcome, Error>,
) -> rowmill_app::Result<()> {
    let outcome = match ended {
        Ok(outcome) => outcome,
        Err(error) if error.status().is_server_error() || error.code() == "request_timeout" => {
            // What is not the file's fault is over some time.
            let forgives = error.status() != axum::http::StatusCode::INTERNAL_SERVER_ERROR;
            tracing::warn!(import = %job.id, %error, "an import is put off; it is tried again");
            return app.put_off_import(job, holder, PAUSE, forgives).await;
        }
        Err(error) => {
            let (code, words) = (error.code().to_owned(), error.to_string());
            let error = JobFailure { error: words, code, details: error.into_details() };
            JobOutcome { stopped: false, error: Some(error) }
        }
    };
    let status = if outcome.error.is_some() { ImportStatus::Failed } else { ImportStatus::Finished };
    app.end_import(job, holder, status, outcome.to_text()).await.map(|_| ())
}

fn given_up() -> JobOutcome {
    let words = format!(
        "The server failed or stopped {CLAIMS_MAX} times while it ran this import; the server log has the cause"
    );
    let error = JobFailure { error: words, code: "internal_error".to_owned(), details: Vec::new() };
    JobOutcome { stopped: false, error: Some(error) }
}
