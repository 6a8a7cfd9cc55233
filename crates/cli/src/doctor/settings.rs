//! Settings that can be read and still make no sense.

use rowmill_app::Vault;

use super::permissions::unreadable;
use super::report::Finding;
use crate::backup::key_choice;
use crate::backup_schedule::Schedule;
use crate::config::Serve;
use crate::connections::Tls;
use crate::observing::metrics_access;

const CHECK: &str = "settings";

pub(super) fn check(serve: &Serve) -> Vec<Finding> {
    let mut findings = Vec::new();
    let key = key_choice(serve.secret_key.as_ref());
    let backups = Schedule::of(&serve.backups, &serve.store.data_dir, serve.store.url().is_some(), key);
    if let Err(fault) = backups {
        findings.push(Finding::problem(CHECK, fault, "Remove --backup-every (ROWMILL_BACKUP_EVERY)."));
    }
    if let Err(fault) = metrics_access(serve.metrics_token.as_ref()) {
        findings.push(Finding::problem(CHECK, fault, "Set a longer token."));
    }
    let tls_files = serve.tls_files();
    let unread = tls_files.iter().flat_map(|files| [&files.certificate, &files.key]);
    let unread: Vec<Finding> = unread.filter_map(|file| unreadable(CHECK, file)).collect();
    if !unread.is_empty() {
        findings.extend(unread);
    } else if let Some(Err(fault)) = tls_files.map(Tls::load) {
        let action =
            "Name the PEM files of the certificate and of its key, and let the server's user read them.";
        findings.push(Finding::problem(CHECK, format!("{fault}."), action));
    }
    let secret_key = serve.secret_key.as_ref().map(|setting| &setting.0);
    let secret_key = secret_key.filter(|key| !key.expose().trim().is_empty());
    if secret_key.is_some_and(|key| Vault::new(key).is_none()) {
        let least = Vault::KEY_CHARS_MIN;
        findings.push(Finding::problem(
            CHECK,
            format!("ROWMILL_SECRET_KEY (--secret-key) has fewer than {least} characters."),
            "Generate one with `openssl rand -hex 32`.",
        ));
    }
    if serve.store.url().is_some() && secret_key.is_none() {
        findings.push(Finding::warning(
            CHECK,
            "ROWMILL_SECRET_KEY is not set, so each node makes a key of its own, and a second node does not start.",
            "Set the same ROWMILL_SECRET_KEY on all nodes, or copy secret.key to their data folders.",
        ));
    }
    if let Err(error) = tracing_subscriber::EnvFilter::try_new(&serve.log) {
        findings.push(Finding::problem(
            CHECK,
            format!("--log {:?} is not a valid filter: {error}.", serve.log),
            "Use a filter such as `info`.",
        ));
    }
    if findings.is_empty() {
        findings.push(Finding::ok(CHECK, "They can be read and fit together."));
    }
    if serve.admin_listen.is_none() && serve.metrics_token.is_none() {
        findings.push(Finding::ok(
            CHECK,
            "Metrics can be read on this machine only: neither --metrics-token nor --admin-listen is set.",
        ));
    }
    findings
}
