//! A graceful shutdown: drain, finish the requests under way, and stop.

use std::time::Duration;

use rowmill_app::App;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::connections::Listener;
use crate::logging;
use crate::service_manager;

/// How long a new connection may take to bring a request before a stop closes it.
const FIRST_REQUEST: Duration = Duration::from_millis(200);

/// How long work on threads apart may go on when all else has ended: nobody waits for it any more.
const BLOCKING_MAX: Duration = Duration::from_secs(2);

/// Ends the runtime. Work that cannot be interrupted, such as a read of a million rows for a client that is gone, does not hold
/// up the end of the process.
pub(crate) fn end(runtime: Runtime) {
    runtime.shutdown_timeout(BLOCKING_MAX);
}

/// How long a stop takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShutdownTimes {
    /// Requests are still taken, while balancers are told to send none.
    pub(crate) drain: Duration,
    /// Requests under way may go on.
    pub(crate) finish: Duration,
}

/// Serves until told to stop, then lets balancers turn away and requests under way finish.
pub(crate) async fn accept(
    listener: Listener,
    ShutdownTimes { drain, finish }: ShutdownTimes,
    app: &App,
    shutdown_signal: &mut ShutdownSignal,
) {
    tokio::select! {
        () = listener.accept() => {}
        () = shutdown_signal.wait() => {}
    }
    app.begin_shutdown();
    service_manager::tell_stopping();
    if !drain.is_zero() {
        let seconds = drain.as_secs();
        logging::tell(&format!(
            "Rowmill is draining: it accepts requests for {seconds} s, while /readyz returns 503."
        ));
        tokio::select! {
            () = listener.accept() => {}
            () = tokio::time::sleep(drain) => {}
            () = shutdown_signal.wait() => {}
        }
    }
    let ended = listener.close();
    app.close_feeds();
    let seconds = finish.as_secs();
    logging::tell(&format!("Rowmill is stopping: in-flight requests have {seconds} s to finish."));
    let finishing = async {
        // Connections made a moment ago have yet to bring their request.
        tokio::time::sleep(FIRST_REQUEST.min(finish)).await;
        ended.await;
    };
    tokio::select! {
        () = finishing => {}
        () = tokio::time::sleep(finish) => tracing::warn!("some requests did not finish in time"),
        () = shutdown_signal.wait() => {}
    }
}

/// The signals by which an operator ends the service.
pub(crate) struct ShutdownSignal {
    terminate: Signal,
    interrupt: Signal,
    times: u32,
}

impl ShutdownSignal {
    pub(crate) fn listen() -> std::io::Result<Self> {
        let (terminate, interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        Ok(Self { terminate, interrupt, times: 0 })
    }

    pub(crate) async fn wait(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
        self.times += 1;
    }

    /// Who says it twice does not want to wait.
    pub(crate) fn is_repeated(&self) -> bool {
        self.times > 1
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use rowmill_clock::{Clock as _, SystemClock};

    use super::*;

    #[test]
    fn work_that_goes_on_does_not_hold_up_the_end() {
        let (open, gate) = mpsc::channel::<()>();
        let (started, has_started) = mpsc::channel();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        runtime.spawn_blocking(move || {
            started.send(()).unwrap();
            let _ = gate.recv_timeout(Duration::from_mins(1));
        });
        has_started.recv().unwrap();
        let start = SystemClock.monotonic();
        end(runtime);
        assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
        drop(open);
    }
}
