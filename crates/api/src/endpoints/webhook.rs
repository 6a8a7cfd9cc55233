//! The event platform's webhook.

use std::borrow::Cow;

use axum::Router;
use axum::extract::Request;
use axum::http::Method;
use axum::routing::post;
use rowmill_app::{Delivered, Webhook};
use rowmill_model::{Scopes, TeamId, guest};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use crate::answer::Answer;
use crate::body::check_content_type;
use crate::body_limit::BodyLimit;
use crate::endpoint::{Access, Call, Endpoint, Examples, RequestHeader};
use crate::error::Error;
use crate::layers::RequestId;
use crate::payload::{Documented, Nothing, Whole};
use crate::sent_head::SentHead;
use crate::state::ApiState;

pub(crate) struct Deliver;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TeamIdPath {
    /// The team's id: a UUID, as in its webhook URL.
    #[schemars(length(min = 1, max = 64), extend("example" = "0190f0e0-a1b2-7c3d-8e4f-0123456789ab"))]
    team_id: String,
}

/// A delivery from the event platform. It is read by hand.
#[derive(Debug)]
pub(crate) struct DeliveryBody;

impl JsonSchema for DeliveryBody {
    fn schema_name() -> Cow<'static, str> {
        "DeliveryBody".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let stored = generator.subschema_for::<guest::Payload>();
        json_schema!({
            "type": "object",
            "description": "A delivery from the event platform. The guest is stored in the column `_trigger` as a \
             `GuestPayload`.",
            "required": ["type", "data"],
            "properties": {
                "type": {
                    "type": "string",
                    "description": "`guest.registered` and `guest.updated` create and update rows. Other types are \
                     ignored.",
                },
                "created_at": {
                    "description": "When the event happened, in ISO 8601. If missing or invalid, the event counts as \
                     the newest.",
                },
                "data": {
                    "type": "object",
                    "description": "The guest, with nested `guest` and `event`.",
                    "additionalProperties": true,
                },
            },
            "x-stored-as": stored,
        })
    }
}

impl Documented for DeliveryBody {}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Delivered")]
pub(crate) struct DeliveredOut {
    /// Number of projects that accepted the delivery.
    matched_projects: usize,
    rows_created: u64,
    rows_updated: u64,
    /// Present and true if the delivery was ignored: another event type, or no project is connected to the
    /// event.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    ignored: bool,
}

impl Endpoint<ApiState> for Deliver {
    const METHOD: Method = Method::POST;
    const ID: &'static str = "deliverEvent";
    const SCOPES: Scopes = Scopes::NONE;
    const TAG: &'static str = "Webhook";
    const SUMMARY: &'static str = "Deliver an event";
    const DESCRIPTION: &'static str = "Creates or updates the guest's row in every project connected to the event: one \
         row per guest and project, even for concurrent deliveries. Events older than the last one processed are ignored. \
         A project with a `signingSecret` accepts only deliveries with a valid `webhook-signature`. A delivery has at \
         most 1 MiB (`deliveryBytesMax`). `GET /v4/team/inbound-deliveries` says what became of each.";
    const ACCESS: Access = Access::Webhook;
    // Strangers can send here, and a delivery is a cell's value.
    const BODY_LIMIT: BodyLimit = BodyLimit::Delivery;
    const REQUEST_HEADERS: &'static [RequestHeader] = &[RequestHeader::WebhookSignature];
    type Path = TeamIdPath;
    type Query = Nothing;
    type Body = Whole<DeliveryBody>;
    type Out = DeliveredOut;

    fn examples() -> Examples {
        Examples {
            body: Some(json!({
                "type": "guest.registered", "created_at": "2026-11-15T09:30:00Z",
                "data": {
                    "id": "gst-1", "user_email": "ada@example.com", "user_name": "Ada Lovelace",
                    "approval_status": "approved", "registered_at": "2026-11-15T09:30:00Z",
                    "event": { "id": "evt-1", "name": "Fair" },
                },
            })),
            answer: Some(json!({ "matchedProjects": 1, "rowsCreated": 1, "rowsUpdated": 0 })),
        }
    }

    async fn handle(
        call: Call<ApiState>,
        path: TeamIdPath,
        _: Nothing,
        body: Whole<DeliveryBody>,
    ) -> Result<Answer<DeliveredOut>, Error> {
        check_content_type(&call.headers)?;
        let SentHead { content_type, headers } = SentHead::of(&call.headers);
        let signature = call.headers.get("webhook-signature").and_then(|value| value.to_str().ok());
        let signature = signature.map(str::to_owned);
        // The kit has made sure that there is such a team.
        let team = Uuid::try_parse(&path.team_id).map_err(|_| rowmill_app::Error::MissingTeamId)?;
        let webhook = Webhook { team: TeamId(team), content_type, headers, body: body.bytes, signature };
        let Delivered { matched_projects, rows_created, rows_updated, ignored } =
            call.app().deliver(webhook).await?;
        Ok(Answer::new(DeliveredOut { matched_projects, rows_created, rows_updated, ignored }))
    }
}

/// The webhook's address with the id left out, which is no operation but deserves its own words.
pub(crate) fn without_team<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let missing = |request: Request| async move {
        Error::App(rowmill_app::Error::MissingTeamId).respond_bare(&RequestId::of(&request))
    };
    Router::new()
        .route("/webhooks/eventplatform", post(missing))
        .route("/webhooks/eventplatform/", post(missing))
}
