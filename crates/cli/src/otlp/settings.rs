//! The settings of traces, and the standard variables behind them.

use clap::Args;
use percent_encoding::percent_decode_str;
use rowmill_model::Secret;
use rowmill_providers::TraceHosts;
use url::Url;

use crate::secret_setting::SecretSetting;

#[derive(Debug, Args)]
#[command(next_help_heading = "Traces")]
#[expect(clippy::struct_field_names, reason = "the names of the settings")]
pub(crate) struct OtlpArgs {
    /// Address of an OpenTelemetry collector that spans are sent to, by OTLP over HTTP with Protocol Buffers, such as
    /// `http://localhost:4318`. They go to /v1/traces below it. Default: the variable `OTEL_EXPORTER_OTLP_ENDPOINT`; without
    /// both, nothing is traced.
    #[arg(long, env = "ROWMILL_OTLP_ENDPOINT", value_parser = endpoint)]
    otlp_endpoint: Option<Url>,
    /// Headers for the collector, as `name=value,name=value` with percent-encoded values. Default: the variable
    /// `OTEL_EXPORTER_OTLP_HEADERS`. Prefer the variable or the file: other processes can read command lines.
    #[arg(long, env = "ROWMILL_OTLP_HEADERS", hide_env_values = true, hide_default_value = true)]
    otlp_headers: Option<SecretSetting>,
    /// Share of the traces begun here that are recorded, from 0 to 1. A caller's `traceparent` decides for itself.
    #[arg(long, env = "ROWMILL_OTLP_SAMPLE", default_value = "1", value_parser = ratio)]
    otlp_sample: f64,
    /// Name of the service in the spans. Default: the variable `OTEL_SERVICE_NAME`, or `rowmill`.
    #[arg(long, env = "ROWMILL_OTLP_SERVICE_NAME")]
    otlp_service_name: Option<String>,
    /// Hosts that calls for cells tell their trace (`traceparent`): `llm.internal`, `*.corp.example`, or `*` for all, with
    /// commas between. Name those whose spans go to your collector. Default: none.
    #[arg(long, env = "ROWMILL_OTLP_PROPAGATE", default_value = "", hide_default_value = true, value_parser = TraceHosts::parse)]
    pub(crate) otlp_propagate: TraceHosts,
}

/// Where spans go, and as whose.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) url: Url,
    pub(super) headers: Vec<(String, Secret)>,
    pub(super) ratio: f64,
    pub(super) service: String,
}

impl OtlpArgs {
    /// `None` if nothing is traced. `variable` reads the environment. What is wrong with a setting of ours is refused; a
    /// standard variable may be meant for others, so that what is wrong there is only told.
    pub(super) fn target(&self, variable: impl Fn(&str) -> Option<String>) -> Result<Option<Target>, String> {
        let standard = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let is_disabled =
            standard("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"));
        let url = match (&self.otlp_endpoint, standard("OTEL_EXPORTER_OTLP_ENDPOINT")) {
            (Some(url), _) => url.clone(),
            (None, Some(text)) if !is_disabled => match endpoint(&text) {
                Ok(url) => url,
                Err(fault) => {
                    tracing::warn!("OTEL_EXPORTER_OTLP_ENDPOINT {fault}. Nothing is traced");
                    return Ok(None);
                }
            },
            _ => return Ok(None),
        };
        if let Some(protocol) = standard("OTEL_EXPORTER_OTLP_PROTOCOL").filter(|word| word != "http/protobuf")
        {
            tracing::warn!(
                "OTEL_EXPORTER_OTLP_PROTOCOL={protocol} is not supported: spans go by http/protobuf"
            );
        }
        let own = self.otlp_headers.as_ref().map(|headers| headers.0.expose().to_owned());
        let headers = match (own, standard("OTEL_EXPORTER_OTLP_HEADERS")) {
            (Some(text), _) => headers(&text).ok_or("--otlp-headers must be name=value,name=value")?,
            (None, Some(text)) => headers(&text).unwrap_or_else(|| {
                tracing::warn!("OTEL_EXPORTER_OTLP_HEADERS is ignored: it is not name=value,name=value");
                Vec::new()
            }),
            (None, None) => Vec::new(),
        };
        let service = self.otlp_service_name.clone().or_else(|| standard("OTEL_SERVICE_NAME"));
        let service = service.unwrap_or_else(|| "rowmill".to_owned());
        Ok(Some(Target { url: traces_url(url), headers, ratio: self.otlp_sample, service }))
    }
}

/// Its path is the collector's, unless it is that of traces already.
fn traces_url(mut url: Url) -> Url {
    let path = url.path().trim_end_matches('/');
    if !path.ends_with("/v1/traces") {
        let path = format!("{path}/v1/traces");
        url.set_path(&path);
    }
    url
}

fn endpoint(text: &str) -> Result<Url, String> {
    let fault =
        || "must be an address such as http://localhost:4318, without a user or a password".to_owned();
    let url = Url::parse(text.trim()).map_err(|_| fault())?;
    let is_http = matches!(url.scheme(), "http" | "https") && url.host().is_some();
    // A password would be in the log; that is what the headers are for.
    let is_plain = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
    if is_http && is_plain { Ok(url) } else { Err(fault()) }
}

fn ratio(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.trim().parse().ok().filter(|ratio| (0.0..=1.0).contains(ratio));
    number.ok_or_else(|| "must be a number from 0 to 1".to_owned())
}

/// As in the specification: like W3C baggage, with percent-encoded values.
fn headers(text: &str) -> Option<Vec<(String, Secret)>> {
    let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=')?;
            let value = percent_decode_str(value.trim()).decode_utf8().ok()?.into_owned();
            let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            let name = name.trim();
            let is_fit = !name.is_empty() && name.bytes().all(is_name) && !value.contains(['\r', '\n', '\0']);
            is_fit.then(|| (name.to_owned(), Secret::new(value)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Parsed {
        #[command(flatten)]
        otlp: OtlpArgs,
    }

    fn target(args: &[&str], variables: &[(&str, &str)]) -> Result<Option<Target>, String> {
        let words = ["rowmill"].iter().chain(args);
        let parsed = <Parsed as clap::Parser>::try_parse_from(words).map_err(|error| error.to_string())?;
        let find = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        parsed.otlp.target(find)
    }

    fn url(args: &[&str], variables: &[(&str, &str)]) -> Option<String> {
        target(args, variables).unwrap().map(|target| target.url.to_string())
    }

    const STANDARD: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

    #[test]
    fn it_is_off_until_somebody_names_a_collector() {
        assert_eq!(url(&[], &[]), None);
        assert_eq!(url(&[], &[(STANDARD, " ")]), None);
        let set = url(&[], &[(STANDARD, "http://collector:4318")]);
        assert_eq!(set.as_deref(), Some("http://collector:4318/v1/traces"));
        let off = [(STANDARD, "http://collector:4318"), ("OTEL_SDK_DISABLED", "true")];
        assert_eq!(url(&[], &off), None);
        let own = url(&["--otlp-endpoint", "https://a.example/otlp/"], &off);
        assert_eq!(own.as_deref(), Some("https://a.example/otlp/v1/traces"));
        let whole = url(&["--otlp-endpoint", "http://a.example/v1/traces"], &[]);
        assert_eq!(whole.as_deref(), Some("http://a.example/v1/traces"));
    }

    #[test]
    fn what_is_wrong_is_refused_in_our_settings_and_told_of_others() {
        for wrong in ["collector:4318", "ftp://a", "http://", "http://me:secret@a.example"] {
            assert!(target(&["--otlp-endpoint", wrong], &[]).is_err(), "{wrong}");
            assert_eq!(url(&[], &[(STANDARD, wrong)]), None, "{wrong}");
        }
        let here = ["--otlp-endpoint", "http://a"];
        for wrong in ["1.5", "-0.1", "NaN", "many"] {
            assert!(target(&[&here[..], &["--otlp-sample", wrong]].concat(), &[]).is_err(), "{wrong}");
        }
        assert!(target(&[&here[..], &["--otlp-headers", "secret"]].concat(), &[]).is_err());
    }

    #[test]
    fn headers_and_names_are_the_standard_ones() {
        let variables = [
            (STANDARD, "http://a"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=se%2Ccret, x-team = b"),
            ("OTEL_SERVICE_NAME", "tables"),
        ];
        let Target { headers, service, .. } = target(&[], &variables).unwrap().unwrap();
        let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.expose())).collect();
        assert_eq!(headers, [("api-key", "se,cret"), ("x-team", "b")]);
        assert_eq!(service, "tables");
        let named = target(&["--otlp-service-name", "own"], &variables).unwrap().unwrap();
        assert_eq!(named.service, "own");
    }
}
