//! The messages of OTLP that we send, with the tags of `opentelemetry/proto/collector/trace/v1/trace_service.proto`.

use prost::Message;

use crate::finished_span::{FinishedSpan, Kind, Value};

/// Who sends the spans.
#[derive(Debug, Clone, Default)]
pub struct Resource {
    /// `service.name`.
    pub service: String,
    /// `service.version`.
    pub version: &'static str,
    /// `service.instance.id`: another one for every process.
    pub instance: String,
}

const SCOPE: &str = "rowmill";
const STATUS_ERROR: i32 = 2;
/// The trace flags of a span, of which the lowest bit says that it is sampled.
const FLAG_SAMPLED: u32 = 1;

pub(crate) fn encode(resource: &Resource, spans: Vec<FinishedSpan>) -> Vec<u8> {
    let Resource { service, version, instance } = resource;
    let attributes = vec![
        text("service.name", service.clone()),
        text("service.version", (*version).to_owned()),
        text("service.instance.id", instance.clone()),
    ];
    let scope = ScopeMessage { name: SCOPE.to_owned(), version: (*version).to_owned() };
    let scope_spans = ScopeSpans { scope: Some(scope), spans: spans.into_iter().map(message).collect() };
    let resource = ResourceMessage { attributes };
    let resource_spans = ResourceSpans { resource: Some(resource), scope_spans: vec![scope_spans] };
    ExportRequest { resource_spans: vec![resource_spans] }.encode_to_vec()
}

/// How many spans a collector says it did not take. An answer that cannot be read says nothing.
pub fn rejected_spans(answer: &[u8]) -> u64 {
    let answer = ExportResponse::decode(answer).unwrap_or_default();
    let rejected = answer.partial_success.map_or(0, |partial| partial.rejected_spans);
    u64::try_from(rejected).unwrap_or(0)
}

fn message(span: FinishedSpan) -> SpanMessage {
    let FinishedSpan { trace, span, parent, kind, name, start_ns, end_ns, attributes, is_error, team: _ } =
        span;
    let attributes = attributes.into_iter().map(|(name, value)| match value {
        Value::Text(value) => text(name, value.into_owned()),
        Value::Shared(value) => text(name, value.as_ref().to_owned()),
        Value::Number(value) => attribute(name, any_value::Value::Int(value)),
    });
    SpanMessage {
        trace_id: trace.get().to_be_bytes().to_vec(),
        span_id: span.get().to_be_bytes().to_vec(),
        parent_span_id: parent.map(|parent| parent.get().to_be_bytes().to_vec()).unwrap_or_default(),
        name: name.into_owned(),
        kind: match kind {
            Kind::Internal => 1,
            Kind::Server => 2,
            Kind::Client => 3,
        },
        start_time_unix_nano: start_ns,
        end_time_unix_nano: end_ns,
        attributes: attributes.collect(),
        status: is_error.then_some(Status { code: STATUS_ERROR }),
        flags: FLAG_SAMPLED,
    }
}

fn text(name: &str, value: String) -> KeyValue {
    attribute(name, any_value::Value::String(value))
}

fn attribute(name: &str, value: any_value::Value) -> KeyValue {
    KeyValue { key: name.to_owned(), value: Some(AnyValue { value: Some(value) }) }
}

#[derive(Message)]
struct ExportRequest {
    #[prost(message, repeated, tag = "1")]
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Message)]
struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    resource: Option<ResourceMessage>,
    #[prost(message, repeated, tag = "2")]
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Message)]
struct ResourceMessage {
    #[prost(message, repeated, tag = "1")]
    attributes: Vec<KeyValue>,
}

#[derive(Message)]
struct ScopeSpans {
    #[prost(message, optional, tag = "1")]
    scope: Option<ScopeMessage>,
    #[prost(message, repeated, tag = "2")]
    spans: Vec<SpanMessage>,
}

#[derive(Message)]
struct ScopeMessage {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    version: String,
}

#[derive(Message)]
struct SpanMessage {
    #[prost(bytes = "vec", tag = "1")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    span_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    parent_span_id: Vec<u8>,
    #[prost(string, tag = "5")]
    name: String,
    #[prost(int32, tag = "6")]
    kind: i32,
    #[prost(fixed64, tag = "7")]
    start_time_unix_nano: u64,
    #[prost(fixed64, tag = "8")]
    end_time_unix_nano: u64,
    #[prost(message, repeated, tag = "9")]
    attributes: Vec<KeyValue>,
    #[prost(message, optional, tag = "15")]
    status: Option<Status>,
    #[prost(fixed32, tag = "16")]
    flags: u32,
}

#[derive(Message)]
struct Status {
    #[prost(int32, tag = "3")]
    code: i32,
}

#[derive(Message)]
struct KeyValue {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(message, optional, tag = "2")]
    value: Option<AnyValue>,
}

#[derive(Message)]
struct AnyValue {
    #[prost(oneof = "any_value::Value", tags = "1, 3")]
    value: Option<any_value::Value>,
}

mod any_value {
    #[derive(prost::Oneof)]
    pub(super) enum Value {
        #[prost(string, tag = "1")]
        String(String),
        #[prost(int64, tag = "3")]
        Int(i64),
    }
}

#[derive(Message)]
struct ExportResponse {
    #[prost(message, optional, tag = "1")]
    partial_success: Option<PartialSuccess>,
}

#[derive(Message)]
struct PartialSuccess {
    #[prost(int64, tag = "1")]
    rejected_spans: i64,
}

#[cfg(test)]
mod tests {
    use std::num::{NonZeroU64, NonZeroU128};

    use opentelemetry_proto::tonic::collector::trace::v1::{
        ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
    };
    use opentelemetry_proto::tonic::common::v1::any_value::Value as Official;
    use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
    use prost::Message as _;

    use super::*;

    #[test]
    fn the_official_types_read_what_we_write() {
        let span = FinishedSpan {
            trace: NonZeroU128::new(0x0102 << 112 | 7).unwrap(),
            span: NonZeroU64::new(9).unwrap(),
            parent: NonZeroU64::new(8),
            kind: Kind::Client,
            name: "call hunter".into(),
            start_ns: 5,
            end_ns: u64::MAX - 1,
            attributes: vec![("a", Value::from("b")), ("n", Value::from(503_u16))],
            is_error: true,
            team: Some(1),
        };
        let root = FinishedSpan { parent: None, is_error: false, kind: Kind::Server, ..span.clone() };
        let resource = Resource { service: "mine".to_owned(), version: "1.2", instance: "i".to_owned() };
        let body = encode(&resource, vec![span, root]);
        let read = ExportTraceServiceRequest::decode(&*body).unwrap();
        assert_eq!(read.encode_to_vec(), body, "nothing that the official types do not know");
        let told = &read.resource_spans[0];
        let text = |value: &Option<opentelemetry_proto::tonic::common::v1::AnyValue>| {
            value.clone().and_then(|value| value.value).unwrap()
        };
        let about: Vec<_> = told.resource.as_ref().unwrap().attributes.iter().collect();
        assert_eq!(
            (about[0].key.as_str(), text(&about[0].value)),
            ("service.name", Official::StringValue("mine".to_owned()))
        );
        let spans = &told.scope_spans[0].spans;
        let call = &spans[0];
        assert_eq!(
            (call.trace_id[..2].to_vec(), call.trace_id[15], call.trace_id.len()),
            (vec![1, 2], 7, 16)
        );
        assert_eq!((call.span_id[7], call.parent_span_id[7], call.kind), (9, 8, 3));
        assert_eq!((call.start_time_unix_nano, call.end_time_unix_nano), (5, u64::MAX - 1));
        assert_eq!((call.status.as_ref().unwrap().code(), call.flags), (StatusCode::Error, 1));
        assert_eq!(text(&call.attributes[1].value), Official::IntValue(503));
        assert!(spans[1].parent_span_id.is_empty() && spans[1].status.is_none());
    }

    #[test]
    fn a_collector_says_what_it_did_not_take() {
        let partial = ExportTracePartialSuccess { rejected_spans: 3, error_message: "no".to_owned() };
        let answer = ExportTraceServiceResponse { partial_success: Some(partial) };
        assert_eq!(rejected_spans(&answer.encode_to_vec()), 3);
        assert_eq!((rejected_spans(b""), rejected_spans(b"<html>")), (0, 0));
    }
}
