//! What systemd is told: that the server is ready, that it is stopping, and, for its watchdog, that it is alive.
//!
//! Without `NOTIFY_SOCKET`, as outside of systemd, nobody is told anything.

use std::time::Duration;

use sd_notify::NotifyState;

/// The server answers requests from now on.
pub(crate) fn tell_ready() {
    tell(NotifyState::Ready);
    if let Some(patience) = sd_notify::watchdog_enabled() {
        tokio::spawn(tell_alive(patience));
    }
}

pub(crate) fn tell_stopping() {
    tell(NotifyState::Stopping);
}

/// Runs where requests run: if they hang, the watchdog hears nothing and restarts the server.
async fn tell_alive(patience: Duration) {
    let mut interval = tokio::time::interval(patience / 2);
    loop {
        interval.tick().await;
        tell(NotifyState::Watchdog);
    }
}

fn tell(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::warn!(%error, "the service manager could not be told of the server's state");
    }
}
