//! Deliveries to inbound hooks.

use std::borrow::Cow;

use axum::http::Method;
use rowmill_app::{HookDelivery, HookReceived};
use rowmill_model::Scopes;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::hooks::TAG;
use crate::answer::Answer;
use crate::body_limit::BodyLimit;
use crate::endpoint::{Access, Call, Endpoint, Examples};
use crate::error::Error;
use crate::payload::{Documented, Nothing, Whole};
use crate::sent_head::SentHead;
use crate::state::ApiState;

/// The address of a hook.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HookAddress {
    /// The project's id.
    #[schemars(length(min = 1, max = 64), extend("example" = "proj_0190f0e0a1b27c3d8e4f0123456789ab"))]
    project_id: String,
    /// The secret of the hook's address.
    #[schemars(length(min = 1, max = 128), extend("example" = "Zk0sTq3o1b7mXn2c9vRw5yUe8iPa4dGh6jLkBfMx3Kq"))]
    secret: String,
}

/// Whatever is sent to a hook. It is read by hand.
#[derive(Debug)]
pub(crate) struct HookBody;

impl JsonSchema for HookBody {
    fn schema_name() -> Cow<'static, str> {
        "HookBody".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A row, or an array of rows: objects that map field names to values. Fields are written into the \
             columns with these headers. A form is one row.",
            "anyOf": [
                { "type": "object", "additionalProperties": true },
                { "type": "array", "items": { "type": "object", "additionalProperties": true } },
            ],
        })
    }
}

impl Documented for HookBody {
    const MEDIA: &'static [&'static str] =
        &["application/json", "application/x-www-form-urlencoded", "multipart/form-data"];
}

pub(crate) struct ReceiveHook;

/// What became of a delivery.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "HookReceived")]
pub(crate) struct ReceivedOut {
    rows_created: u64,
    rows_updated: u64,
    rows_unchanged: u64,
    /// Why nothing was done. Present only if nothing was.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(max = 1_000))]
    ignored: Option<String>,
}

impl Endpoint<ApiState> for ReceiveHook {
    const METHOD: Method = Method::POST;
    const ID: &'static str = "receiveHook";
    const SCOPES: Scopes = Scopes::NONE;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Send to an inbound hook";
    const DESCRIPTION: &'static str = "Takes an object, an array of objects, or a form, as rows, all or none. No API key: the address is the secret. \
     A delivery has at most 1 MiB (`deliveryBytesMax`). `GET /v4/team/inbound-deliveries` says what became of each.";
    const ACCESS: Access = Access::Hook;
    // Strangers can send here.
    const BODY_LIMIT: BodyLimit = BodyLimit::Delivery;
    type Path = HookAddress;
    type Query = Nothing;
    type Body = Whole<HookBody>;
    type Out = ReceivedOut;

    fn examples() -> Examples {
        Examples {
            body: Some(json!({ "Email": "ada@example.com", "Message": "Hello", "utm": { "source": "ad" } })),
            answer: Some(json!({ "rowsCreated": 1, "rowsUpdated": 0, "rowsUnchanged": 0 })),
        }
    }

    async fn handle(
        call: Call<ApiState>,
        path: HookAddress,
        _: Nothing,
        body: Whole<HookBody>,
    ) -> Result<Answer<ReceivedOut>, Error> {
        // Looked up again: it may have changed while the body came in.
        let found = call.app().hook_at(&path.project_id, &path.secret).await?;
        let SentHead { content_type, headers } = SentHead::of(&call.headers);
        let delivery = HookDelivery { content_type, headers, body: body.bytes };
        let HookReceived { rows_created, rows_updated, rows_unchanged, ignored } =
            call.app().receive(found, delivery).await?;
        Ok(Answer::new(ReceivedOut { rows_created, rows_updated, rows_unchanged, ignored }))
    }
}
