//! The paths beside the API, as the document describes them.

use axum::http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::definition::OwnHeaders;
use crate::endpoint::{Access, Examples, Repeats, RequestHeader};
use crate::openapi::{AnswerSpec, Operation, Tag};
use crate::schema::{Schemas, TypeSchema};

pub(crate) const OPENAPI: &str = "/openapi.json";
pub(crate) const DOCS: &str = "/docs";
pub(crate) const HEALTH: &str = "/healthz";
pub(crate) const READY: &str = "/readyz";
pub(crate) const METRICS: &str = "/metrics";
/// What these paths are listed under.
pub(crate) const TAG: Tag =
    Tag { name: "Server", description: "API description, health and metrics. No API key required." };

/// Whether a path is answered though connections are at their limit.
pub fn is_health(path: &str) -> bool {
    matches!(path, HEALTH | READY | METRICS)
}

/// The health of the server.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Health {
    /// The status of the server.
    #[schemars(extend("enum" = ["ok"]))]
    pub(crate) status: &'static str,
}

/// An OpenAPI document.
#[derive(Debug, JsonSchema)]
#[expect(dead_code, reason = "describes what is written by hand")]
struct OpenApiDocument {
    #[schemars(extend("enum" = ["3.0.3"]))]
    openapi: String,
    info: Map<String, Value>,
    paths: Map<String, Value>,
}

/// These paths in the document.
pub(crate) fn operations(schemas: &mut Schemas) -> [Operation; 5] {
    let text = |media_type| AnswerSpec {
        media_type,
        media_type_also: None,
        schema: json!({ "type": "string", "maxLength": 67_108_864, "pattern": "^[^\\u0000]*$" }),
        is_enveloped: false,
    };
    let document = schemas.answer(TypeSchema::of::<OpenApiDocument>());
    let health = Some(json!({ "status": "ok" }));
    [
        operation(
            OPENAPI,
            "getOpenApi",
            "Get the API description",
            "This document: OpenAPI 3.0.3, as JSON.",
            AnswerSpec {
                media_type: "application/json",
                media_type_also: None,
                schema: document,
                is_enveloped: false,
            },
            None,
        ),
        operation(
            DOCS,
            "getDocs",
            "Read the API description",
            "This document as a web page.",
            text("text/html; charset=utf-8"),
            None,
        ),
        operation(
            HEALTH,
            "getHealth",
            "Check that the server is up",
            "Returns 200 while the process runs, even if the database is unavailable.",
            AnswerSpec::enveloped(schemas.answer(TypeSchema::of::<Health>())),
            health.clone(),
        ),
        operation(
            READY,
            "getReadiness",
            "Check that the server is ready",
            "Returns 200 if the database is available. Returns 503 if it is not, if its disk is full \
             (`storage_full`) or fails (`storage_failed`), or while the server is shutting down; do not send \
             requests then.",
            AnswerSpec::enveloped(schemas.answer(TypeSchema::of::<Health>())),
            health,
        ),
        operation(
            METRICS,
            "getMetrics",
            "Get metrics",
            "Metrics in the Prometheus text format. Send the token that the operator set with `--metrics-token` as \
             `Authorization: Bearer`. Without that setting metrics are for requests from the machine itself.",
            text("text/plain; version=0.0.4"),
            None,
        ),
    ]
}

fn operation(
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    description: &'static str,
    answer: AnswerSpec,
    example: Option<Value>,
) -> Operation {
    let is_fixed = matches!(path, OPENAPI | DOCS);
    let mut statuses = vec![StatusCode::OK];
    if is_fixed {
        statuses.push(StatusCode::NOT_MODIFIED);
    }
    Operation {
        reads_rows: false,
        request_headers: if is_fixed { &[RequestHeader::IfNoneMatch] } else { &[] },
        answer_headers: if is_fixed { &["ETag", "Cache-Control"] } else { &[] },
        headers: OwnHeaders::default(),
        // Health and metrics are answered though connections are at their limit.
        may_be_unavailable: path == READY || !is_health(path),
        needs_token: path == METRICS,
        method: Method::GET,
        repeats: Repeats::Freely,
        path: path.to_owned(),
        id: id.to_owned(),
        tag: TAG.name.to_owned(),
        summary,
        description,
        access: Access::Open,
        scopes: rowmill_model::Scopes::NONE,
        statuses,
        path_params: Vec::new(),
        query_params: Vec::new(),
        body: None,
        answer,
        examples: Examples { body: None, answer: example },
    }
}
