//! Spans as a collector gets them, read with the types of the official schema and not with ours.

use std::collections::BTreeMap;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use prost::Message as _;

use super::StubServer;

/// A span, with ids in hexadecimal digits.
#[derive(Debug, Clone)]
pub(crate) struct Span {
    pub(crate) trace: String,
    pub(crate) id: String,
    /// Empty for the first of a trace.
    pub(crate) parent: String,
    pub(crate) name: String,
    /// 1: internal, 2: server, 3: client.
    pub(crate) kind: i32,
    pub(crate) took_ns: u64,
    pub(crate) is_error: bool,
    pub(crate) attributes: BTreeMap<String, String>,
    /// What is said of the process that sent it.
    pub(crate) resource: BTreeMap<String, String>,
}

/// All spans that a collector has got so far. What cannot be read is a failure.
#[track_caller]
pub(crate) fn received(collector: &StubServer) -> Vec<Span> {
    let mut spans = Vec::new();
    for seen in collector.seen() {
        assert_eq!((seen.method.as_str(), seen.path.as_str()), ("POST", "/v1/traces"));
        assert_eq!(seen.headers["content-type"], "application/x-protobuf");
        for of_resource in ExportTraceServiceRequest::decode(&*seen.bytes).unwrap().resource_spans {
            let resource = attributes(&of_resource.resource.unwrap().attributes);
            for span in of_resource.scope_spans.into_iter().flat_map(|scope| scope.spans) {
                let (start, end) = (span.start_time_unix_nano, span.end_time_unix_nano);
                assert!(
                    span.trace_id.len() == 16 && span.span_id.len() == 8 && start > 1_700_000_000_000_000_000
                );
                spans.push(Span {
                    trace: hex(&span.trace_id),
                    id: hex(&span.span_id),
                    parent: hex(&span.parent_span_id),
                    kind: span.kind,
                    took_ns: end.checked_sub(start).unwrap(),
                    is_error: span.status.is_some_and(|status| status.code == 2),
                    attributes: attributes(&span.attributes),
                    resource: resource.clone(),
                    name: span.name,
                });
            }
        }
    }
    spans
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}

fn attributes(pairs: &[KeyValue]) -> BTreeMap<String, String> {
    let text = |value: Option<&AnyValue>| match value.and_then(|value| value.value.as_ref()) {
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::IntValue(number)) => number.to_string(),
        other => panic!("{other:?}"),
    };
    pairs.iter().map(|pair| (pair.key.clone(), text(pair.value.as_ref()))).collect()
}
