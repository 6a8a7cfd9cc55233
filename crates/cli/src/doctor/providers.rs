//! The providers with credentials from the environment: whether these are complete, and their hosts can be resolved.

use std::time::Duration;

use axum::http::Uri;
use rowmill_app::{ConfiguredProvider, Environment};
use rowmill_model::provider::ProviderKind;
use rowmill_providers::catalogue;

use super::report::Finding;

const CHECK: &str = "providers";
const RESOLVE_MAX: Duration = Duration::from_secs(5);

pub(super) async fn check() -> Vec<Finding> {
    let variable = |name: &str| {
        std::env::var_os(name).map(|value| value.into_string().unwrap_or_else(|_| "\0".to_owned()))
    };
    let environment = match Environment::read(variable) {
        Ok(environment) => environment,
        Err(error) => {
            let action = "Correct the variable; the server does not start with it.";
            return vec![Finding::problem(CHECK, format!("{error}."), action)];
        }
    };
    let all = environment.configured();
    let mut findings = Vec::new();
    for configured in &all {
        findings.push(of_provider(configured).await);
    }
    if environment.ai_model().is_none() {
        findings.extend(without_model(&all));
    }
    if findings.is_empty() {
        findings.push(Finding::ok(CHECK, "The environment has no credentials; teams can set their own."));
    }
    findings
}

async fn of_provider(configured: &ConfiguredProvider) -> Finding {
    let ConfiguredProvider { provider, has_key, base_url } = configured;
    let id = provider.id;
    if !provider.is_configured(*has_key, base_url.is_some()) {
        let message = format!("{id} has an address but no API key.");
        return Finding::warning(CHECK, message, format!("Set {}.", provider.api_key_variable()));
    }
    let known = catalogue::PROVIDERS.iter().find(|known| known.about.id == id).map(|known| known.base_url);
    let Some(url) = base_url.as_deref().or(known) else {
        return Finding::ok(CHECK, format!("{id} is configured."));
    };
    let Some((host, port)) = host_of(url) else {
        let message = format!("The address of {id} has no host.");
        return Finding::problem(CHECK, message, format!("Correct {}.", provider.base_url_variable()));
    };
    let resolving = tokio::time::timeout(RESOLVE_MAX, tokio::net::lookup_host((host.as_str(), port)));
    let is_found = resolving.await.is_ok_and(|found| found.is_ok_and(|mut found| found.next().is_some()));
    if is_found {
        return Finding::ok(CHECK, format!("{id} is configured, and {host} can be resolved."));
    }
    Finding::problem(
        CHECK,
        format!("{id} is configured, but {host} cannot be resolved."),
        format!("Check the DNS server of this machine, and {}.", provider.base_url_variable()),
    )
}

/// Cells of columns that name no model fail, which nobody notices before they run.
fn without_model(all: &[ConfiguredProvider]) -> Option<Finding> {
    let is_usable = |ConfiguredProvider { provider, has_key, base_url }: &&ConfiguredProvider| {
        provider.kind == ProviderKind::Ai && provider.is_configured(*has_key, base_url.is_some())
    };
    let id = all.iter().find(is_usable)?.provider.id;
    let message = format!("{id} is configured, but AI columns have no default model.");
    Some(Finding::note(CHECK, message, "Set ROWMILL_AI_MODEL, or name a model in every AI column."))
}

/// The host and port of an address.
fn host_of(url: &str) -> Option<(String, u16)> {
    let url: Uri = url.parse().ok()?;
    let port = url.port_u16().unwrap_or(if url.scheme_str() == Some("http") { 80 } else { 443 });
    let host = url.host()?.trim_start_matches('[').trim_end_matches(']');
    Some((host.to_owned(), port))
}
