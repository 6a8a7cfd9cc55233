//! What inbound webhooks received.

use axum::http::Method;
use rowmill_app::{DeliveryId, ReceivedSource};
use rowmill_model::{HookId, Offence, Scopes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::hooks::TAG;
use super::page_size;
use crate::answer::Answer;
use crate::endpoint::{Call, Endpoint, Examples, Repeats};
use crate::error::Error;
use crate::payload::Nothing;
use crate::state::ApiState;
use crate::wire::hook::{InboundOut, InboundStatusOut, SourceOut};

/// Names a delivery.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InboundPath {
    /// The delivery's id.
    #[schemars(length(min = 1, max = 64), extend("example" = "msg_4711_18bcfe5687b"))]
    delivery_id: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct InboundQuery {
    #[schemars(range(min = 1), extend("x-limit" = { "maximum": "pageSizeMax" }))]
    page_size: Option<u32>,
    /// `nextCursor` of the previous page.
    #[schemars(length(min = 1, max = 64))]
    cursor: Option<String>,
    /// Only deliveries with this status.
    #[serde(default)]
    #[schemars(with = "InboundStatusOut")]
    status: Option<InboundStatusOut>,
    /// Only deliveries to hooks, or only those of the event platform.
    #[serde(default)]
    #[schemars(with = "SourceOut")]
    source: Option<SourceOut>,
    /// Only deliveries to this hook. It may be deleted by now.
    #[schemars(length(min = 1, max = 64))]
    hook_id: Option<String>,
}

impl InboundQuery {
    fn source(&self, offences: &mut Vec<Offence>) -> Option<ReceivedSource> {
        match (self.hook_id.as_deref(), self.source) {
            (Some(_), Some(SourceOut::Eventplatform)) => {
                offences.push(Offence::new("hookId", "cannot be combined with source=eventplatform"));
                None
            }
            (Some(id), _) => {
                let id = HookId::parse(id);
                if id.is_none() {
                    offences.push(Offence::new("hookId", "must be the id of a hook"));
                }
                id.map(ReceivedSource::Hook)
            }
            (None, Some(SourceOut::Hook)) => Some(ReceivedSource::Hooks),
            (None, Some(SourceOut::Eventplatform)) => Some(ReceivedSource::EventPlatform),
            (None, None) => None,
        }
    }
}

pub(crate) struct ListInbound;

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "InboundDeliveryList")]
pub(crate) struct InboundList {
    /// Newest first.
    deliveries: Vec<InboundOut>,
    pagination: InboundPagination,
}

/// Pagination by cursor.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct InboundPagination {
    page_size: u32,
    /// The `cursor` of the next page; null at the end.
    #[schemars(length(max = 64))]
    next_cursor: Option<String>,
}

impl Endpoint<ApiState> for ListInbound {
    const METHOD: Method = Method::GET;
    const ID: &'static str = "listInboundDeliveries";
    const SCOPES: Scopes = Scopes::ADMIN.and(Scopes::READ);
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "List what came in";
    const DESCRIPTION: &'static str = "Lists the deliveries to the team's inbound hooks and to its event platform webhook, newest first, with what \
     became of each. They are kept for 7 days (`inboundDays`), the newest 10,000 or 64 MiB (`inboundBytesMax`). A \
     delivery that made rows is listed a moment after it was answered.";
    type Path = Nothing;
    type Query = InboundQuery;
    type Body = Nothing;
    type Out = InboundList;

    fn examples() -> Examples {
        let pagination = json!({ "pageSize": 50, "nextCursor": null });
        Examples { body: None, answer: Some(json!({ "deliveries": [example()], "pagination": pagination })) }
    }

    async fn handle(
        call: Call<ApiState>,
        _: Nothing,
        query: InboundQuery,
        _: Nothing,
    ) -> Result<Answer<InboundList>, Error> {
        let page_size = page_size(query.page_size, &call.limits);
        let mut offences = Vec::new();
        let source = query.source(&mut offences);
        let before = query.cursor.as_deref().map(DeliveryId::parse);
        if before == Some(None) {
            offences.push(Offence::new("cursor", "must be a nextCursor from a previous page"));
        }
        if !offences.is_empty() {
            return Err(Error::offences(offences));
        }
        let (status, before) = (query.status.map(Into::into), before.flatten());
        let page = call.app().received(call.caller()?, source, status, before, page_size).await?;
        let last = page.deliveries.last().filter(|_| page.more);
        let next_cursor = last.map(|delivery| delivery.id.to_string());
        let deliveries = page.deliveries.into_iter().map(InboundOut::listed).collect();
        Ok(Answer::new(InboundList { deliveries, pagination: InboundPagination { page_size, next_cursor } }))
    }
}

pub(crate) struct GetInbound;

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "InboundDeliveryAnswer")]
pub(crate) struct OneInbound {
    delivery: InboundOut,
}

impl Endpoint<ApiState> for GetInbound {
    const METHOD: Method = Method::GET;
    const ID: &'static str = "getInboundDelivery";
    const SCOPES: Scopes = Scopes::ADMIN.and(Scopes::READ);
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Get what came in";
    const DESCRIPTION: &'static str = "Returns a delivery with its body and its headers as they came. Headers that may carry secrets are not kept.";
    type Path = InboundPath;
    type Query = Nothing;
    type Body = Nothing;
    type Out = OneInbound;

    fn examples() -> Examples {
        Examples { body: None, answer: Some(json!({ "delivery": whole_example() })) }
    }

    async fn handle(
        call: Call<ApiState>,
        path: InboundPath,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<OneInbound>, Error> {
        let found = call.app().received_delivery(call.caller()?, &path.delivery_id).await?;
        Ok(Answer::new(OneInbound { delivery: InboundOut::whole(found) }))
    }
}

pub(crate) struct ReplayInbound;

impl Endpoint<ApiState> for ReplayInbound {
    const METHOD: Method = Method::POST;
    const ID: &'static str = "replayInboundDelivery";
    const SCOPES: Scopes = Scopes::ADMIN.and(Scopes::READ).and(Scopes::WRITE);
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Process a delivery again";
    const DESCRIPTION: &'static str = "Processes a delivery again, as it came in, by the settings as they are now. The last entry of `outcomes` says \
     what became of it. Without `matchOn`, a hook inserts its rows a second time. This writes rows, and the answer \
     shows what came in.";
    const REPEATS: Repeats = Repeats::WithAnswer;
    type Path = InboundPath;
    type Query = Nothing;
    type Body = Nothing;
    type Out = OneInbound;

    fn examples() -> Examples {
        Examples { body: None, answer: Some(json!({ "delivery": whole_example() })) }
    }

    async fn handle(
        call: Call<ApiState>,
        path: InboundPath,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<OneInbound>, Error> {
        let replayed = call.app().replay_received(call.caller()?, &path.delivery_id).await?;
        Ok(Answer::new(OneInbound { delivery: InboundOut::whole(replayed) }))
    }
}

fn example() -> Value {
    json!({
        "id": "msg_4711_18bcfe5687b", "source": "hook", "hookId": "inb_0190f0e0a1b27c3d8e4f0123456789ab",
        "projectId": "proj_0190f0e0a1b27c3d8e4f0123456789ab", "receivedAt": "2026-11-15T09:30:00.000Z",
        "status": "processed", "contentType": "application/json", "bytes": 27,
        "outcomes": [{
            "at": "2026-11-15T09:30:00.000Z", "replay": false, "status": "processed", "rowsCreated": 1,
            "rowsUpdated": 0, "rowsUnchanged": 0, "ignoredKeys": [], "reason": null,
        }],
    })
}

fn whole_example() -> Value {
    let mut whole = example();
    if let Value::Object(fields) = &mut whole {
        fields.insert("headers".to_owned(), json!({ "user-agent": "curl/8.5.0" }));
        fields.insert("body".to_owned(), "{\"Email\":\"ada@example.com\"}".into());
    }
    whole
}
