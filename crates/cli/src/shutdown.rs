//! A graceful shutdown: drain, finish the requests under way, and stop.

use std::time::Duration;

use rowmill_app::App;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::connections::Listener;
use crate::logging;
use crate::service_manager;

/// How long a new connection may take to bring a request before a stop closes it.
const FIRST_REQUEST: Duration = Duration::from_millis(200);

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
