//! What became of an outbound webhook's deliveries.

use axum::http::{Method, StatusCode};
use jiff::Timestamp;
use rowmill_app::DeliveryId;
use rowmill_model::{Offence, Scopes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::outbound_webhooks::{TAG, WebhookPath};
use super::page_size;
use crate::answer::Answer;
use crate::endpoint::{Call, Endpoint, Examples, Repeats};
use crate::error::Error;
use crate::payload::{Json, Nothing};
use crate::state::ApiState;
use crate::wire::outbound_webhook::{DeliveriesReplay, DeliveryOut, DeliveryStatusOut};

/// Names a delivery of a webhook.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeliveryPath {
    /// The webhook's id.
    #[schemars(length(min = 1, max = 64), extend("example" = "hook_0190f0e0a1b27c3d8e4f0123456789ab"))]
    webhook_id: String,
    /// The delivery's id: the header `webhook-id` of its attempts.
    #[schemars(length(min = 1, max = 64), extend("example" = "msg_4711_18bcfe5687b"))]
    delivery_id: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct DeliveriesQuery {
    #[schemars(range(min = 1), extend("x-limit" = { "maximum": "pageSizeMax" }))]
    page_size: Option<u32>,
    /// `nextCursor` of the previous page.
    #[schemars(length(min = 1, max = 64))]
    cursor: Option<String>,
    /// Only deliveries with this status.
    #[serde(default)]
    #[schemars(with = "DeliveryStatusOut")]
    status: Option<DeliveryStatusOut>,
}

pub(crate) struct ListDeliveries;

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "WebhookDeliveryList")]
pub(crate) struct Deliveries {
    /// Newest first.
    deliveries: Vec<DeliveryOut>,
    pagination: DeliveriesPagination,
}

/// Pagination by cursor.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct DeliveriesPagination {
    page_size: u32,
    /// The `cursor` of the next page; null at the end.
    #[schemars(length(max = 64))]
    next_cursor: Option<String>,
}

impl Endpoint<ApiState> for ListDeliveries {
    const METHOD: Method = Method::GET;
    const ID: &'static str = "listWebhookDeliveries";
    const SCOPES: Scopes = Scopes::ADMIN.and(Scopes::READ);
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "List a webhook's deliveries";
    const DESCRIPTION: &'static str = "Lists the deliveries of a webhook with their attempts, newest first: those that wait, and the newest 10,000 or \
     32 MiB of the others, for up to 7 days.";
    type Path = WebhookPath;
    type Query = DeliveriesQuery;
    type Body = Nothing;
    type Out = Deliveries;

    fn examples() -> Examples {
        let pagination = json!({ "pageSize": 50, "nextCursor": null });
        Examples { body: None, answer: Some(json!({ "deliveries": [example()], "pagination": pagination })) }
    }

    async fn handle(
        call: Call<ApiState>,
        path: WebhookPath,
        query: DeliveriesQuery,
        _: Nothing,
    ) -> Result<Answer<Deliveries>, Error> {
        let page_size = page_size(query.page_size, &call.limits);
        let before = match query.cursor.as_deref().map(DeliveryId::parse) {
            Some(None) => {
                let offence = Offence::new("cursor", "must be a nextCursor from a previous page");
                return Err(Error::offences(vec![offence]));
            }
            before => before.flatten(),
        };
        let status = query.status.map(Into::into);
        let page = call
            .app()
            .webhook_deliveries(call.caller()?, &path.webhook_id, before, status, page_size)
            .await?;
        let last = page.deliveries.last().filter(|_| page.more);
        let next_cursor = last.map(|delivery| delivery.id.to_string());
        let deliveries = page.deliveries.into_iter().map(DeliveryOut::listed).collect();
        Ok(Answer::new(Deliveries {
            deliveries,
            pagination: DeliveriesPagination { page_size, next_cursor },
        }))
    }
}

pub(crate) struct GetDelivery;

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "WebhookDeliveryAnswer")]
pub(crate) struct OneDelivery {
    delivery: DeliveryOut,
}

impl Endpoint<ApiState> for GetDelivery {
    const METHOD: Method = Method::GET;
    const ID: &'static str = "getWebhookDelivery";
    const SCOPES: Scopes = Scopes::ADMIN.and(Scopes::READ);
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Get a delivery";
    const DESCRIPTION: &'static str = "Returns a delivery with its attempts and what is sent.";
    type Path = DeliveryPath;
    type Query = Nothing;
    type Body = Nothing;
    type Out = OneDelivery;

    fn examples() -> Examples {
        Examples { body: None, answer: Some(json!({ "delivery": example() })) }
    }

    async fn handle(
        call: Call<ApiState>,
        path: DeliveryPath,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<OneDelivery>, Error> {
        let found = call.app().webhook_delivery(call.caller()?, &path.webhook_id, &path.delivery_id).await?;
        Ok(Answer::new(OneDelivery { delivery: DeliveryOut::whole(found) }))
    }
}

/// How many deliveries are sent again.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "WebhookReplayed")]
pub(crate) struct Replayed {
    replayed_count: u64,
}

pub(crate) struct ReplayDelivery;

impl Endpoint<ApiState> for ReplayDelivery {
    const METHOD: Method = Method::POST;
    const ID: &'static str = "replayWebhookDelivery";
    const SCOPES: Scopes = Scopes::ADMIN.and(Scopes::READ);
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Send a delivery again";
    const DESCRIPTION: &'static str = "Sends a delivery again within a second, with the same id, whether it succeeded or failed. If it fails, it is \
     retried like a new one.";
    const STATUS: StatusCode = StatusCode::ACCEPTED;
    const REPEATS: Repeats = Repeats::WithAnswer;
    type Path = DeliveryPath;
    type Query = Nothing;
    type Body = Nothing;
    type Out = Replayed;

    async fn handle(
        call: Call<ApiState>,
        path: DeliveryPath,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<Replayed>, Error> {
        call.app().replay_delivery(call.caller()?, &path.webhook_id, &path.delivery_id).await?;
        Ok(Answer::new(Replayed { replayed_count: 1 }))
    }
}

pub(crate) struct ReplayDeliveries;

impl Endpoint<ApiState> for ReplayDeliveries {
    const METHOD: Method = Method::POST;
    const ID: &'static str = "replayWebhookDeliveries";
    const SCOPES: Scopes = Scopes::ADMIN.and(Scopes::READ);
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Send deliveries again since a time";
    const DESCRIPTION: &'static str = "Sends all deliveries of events since a time again that are not waiting, with the same ids, or only those that \
     failed.";
    const STATUS: StatusCode = StatusCode::ACCEPTED;
    const REPEATS: Repeats = Repeats::WithAnswer;
    type Path = WebhookPath;
    type Query = Nothing;
    type Body = Json<DeliveriesReplay>;
    type Out = Replayed;

    fn examples() -> Examples {
        Examples {
            body: Some(json!({ "since": "2026-11-15T09:30:00.000Z", "onlyFailed": true })),
            answer: Some(json!({ "replayedCount": 12 })),
        }
    }

    async fn handle(
        call: Call<ApiState>,
        path: WebhookPath,
        _: Nothing,
        Json(body): Json<DeliveriesReplay>,
    ) -> Result<Answer<Replayed>, Error> {
        let since: Timestamp = body.since.parse().map_err(|_| {
            let message = "must be a time such as 2026-11-15T09:30:00Z";
            Error::offences(vec![Offence::new("since", message)])
        })?;
        let (caller, since_ms) = (call.caller()?, since.as_millisecond());
        let replayed_count =
            call.app().replay_deliveries(caller, &path.webhook_id, since_ms, body.only_failed).await?;
        Ok(Answer::new(Replayed { replayed_count }))
    }
}

fn example() -> Value {
    json!({
        "id": "msg_4711_18bcfe5687b", "type": "row.created", "projectId": "proj_0190f0e0a1b27c3d8e4f0123456789ab",
        "sequence": 12, "status": "delivered", "createdAt": "2026-11-15T09:30:00.000Z", "nextAttemptAt": null,
        "attempts": [
            { "at": "2026-11-15T09:30:00.100Z", "milliseconds": 42, "status": 200, "response": "ok", "error": null },
        ],
    })
}
