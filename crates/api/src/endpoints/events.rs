//! What happens in a project, as it happens.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::http::Method;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;

use super::ProjectPath;
use crate::endpoint::{Answer, Call, Endpoint, Examples, Media, Nothing};
use crate::error::Error;
use crate::rowmill::Rowmill;
use crate::wire::event::{EventStream, render};

/// A stream without an end of its own.
const FOR_EVER: Duration = Duration::from_hours(24 * 365);
/// Where a reader that lost its connection goes on.
const LAST_EVENT_ID: &str = "last-event-id";

pub(crate) struct WatchEvents;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct WatchQuery {
    /// Go on after this event, as the header `Last-Event-ID` says, which browsers send by themselves.
    #[schemars(with = "u64", range(max = 9_007_199_254_740_991_u64))]
    last_event_id: Option<u64>,
    /// End the stream after this many seconds; 0 ends it when all that is known has been sent.
    #[schemars(with = "u32", range(max = 86_400))]
    seconds: Option<u32>,
}

impl Endpoint<Rowmill> for WatchEvents {
    const METHOD: Method = Method::GET;
    const ID: &'static str = "watchEvents";
    const TAG: &'static str = "Processing";
    const SUMMARY: &'static str = "Watch a project";
    const DESCRIPTION: &'static str = "Server-sent events. `rows` brings rows that were made or changed, each as a single \
         read shows it, and the ids of `deleted` ones; `status` brings the counts and carries the id from which the \
         stream can be resumed; `project` says that columns or settings changed; `reset` says that more happened \
         than is remembered, so that rows must be read anew. What happens within a tenth of a second comes in one \
         event, and a slow reader gets fewer and fresher ones.";
    const MEDIA: Media = Media::Events;
    type Path = ProjectPath;
    type Query = WatchQuery;
    type Body = Nothing;
    type Out = EventStream;

    fn examples() -> Examples {
        Examples { body: None, answer: Some(json!({ "event": "reset", "data": "{}" })) }
    }

    async fn handle(
        call: Call<Rowmill>,
        path: ProjectPath,
        query: WatchQuery,
        _: Nothing,
    ) -> Result<Answer<EventStream>, Error> {
        let sent = call.headers.get(LAST_EVENT_ID).and_then(|id| id.to_str().ok());
        let after = match sent.map(str::trim).filter(|id| !id.is_empty()) {
            // An id that is none of ours: nothing of what came after it is known.
            Some(id) => Some(id.parse().unwrap_or(u64::MAX)),
            None => query.last_event_id,
        };
        let feed = call.shared_app().feed(call.caller()?, &path.project_id, after).await?;
        let seconds = query.seconds.map_or(FOR_EVER, |seconds| Duration::from_secs(seconds.into()));
        let end = Instant::now() + seconds;
        let events = stream::unfold(feed, move |mut feed| async move {
            // Only waiting is cut short: what is there is sent.
            if !feed.has_next() && Instant::now() >= end {
                return None;
            }
            let event = tokio::time::timeout_at(end, feed.next()).await.ok()??;
            let text = render(event).ok()?;
            Some((Ok::<_, Infallible>(Bytes::from(text)), feed))
        });
        Ok(Answer::streamed(Body::from_stream(events.fuse())))
    }
}
