//! What happens in a project, as it happens.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Method;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use rowmill_app::{App, Event, Feed};
use rowmill_fairness::Tenant;
use rowmill_model::Scopes;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::time::Sleep;

use super::ProjectPath;
use crate::answer::{Answer, Media};
use crate::endpoint::{Call, Endpoint, Examples, RequestHeader};
use crate::error::Error;
use crate::event_frames::EventFrames;
use crate::payload::Nothing;
use crate::state::ApiState;
use crate::wire::event::{self, EventStream};
use crate::wire::key_by::KeyBy;

/// A stream without an end of its own.
const FOR_EVER: Duration = Duration::from_hours(24 * 365);
/// Where a reader that lost its connection goes on.
const LAST_EVENT_ID: &str = "last-event-id";

pub(crate) struct WatchEvents;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct WatchQuery {
    /// Resume after this event. Same as the header `Last-Event-ID`, which browsers send automatically.
    #[schemars(with = "u64", range(max = 9_007_199_254_740_991_u64))]
    last_event_id: Option<u64>,
    /// End the stream after this many seconds. 0 ends it as soon as all known events are sent.
    #[schemars(with = "u32", range(max = 86_400))]
    seconds: Option<u32>,
    /// What names the cells of rows: the column id (default), or the column's `header`.
    #[schemars(with = "KeyBy")]
    key_by: Option<KeyBy>,
}

impl Endpoint<ApiState> for WatchEvents {
    const METHOD: Method = Method::GET;
    const ID: &'static str = "watchEvents";
    const SCOPES: Scopes = Scopes::READ;
    const TAG: &'static str = "Processing";
    const SUMMARY: &'static str = "Stream project events";
    const DESCRIPTION: &'static str = "Streams server-sent events. `rows` contains created and changed rows, as in a \
         single-row read, and the ids of `deleted` rows. `status` contains the counts and the event id for resuming the \
         stream. `project` means that columns, views or settings changed. `reset` means that events were lost: read the \
         rows again. Changes within 100 ms are combined in one event. A slow client receives fewer, more recent events.";
    const MEDIA: Media = Media::Events;
    const REQUEST_HEADERS: &'static [RequestHeader] = &[RequestHeader::LastEventId];
    type Path = ProjectPath;
    type Query = WatchQuery;
    type Body = Nothing;
    type Out = EventStream;

    fn examples() -> Examples {
        Examples {
            body: None,
            answer: Some(json!("event: project\ndata: {\"version\":7}\n\nevent: reset\ndata: {}\n\n")),
        }
    }

    async fn handle(
        call: Call<ApiState>,
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
        let frames = Arc::clone(call.event_frames());
        let app = Arc::clone(call.shared_app());
        let feed = app.feed(call.caller()?, &path.project_id, after).await?;
        let seconds = query.seconds.map_or(FOR_EVER, |seconds| Duration::from_secs(seconds.into()));
        let end = Box::pin(tokio::time::sleep(seconds));
        let tenant = Tenant::team(feed.team().0.as_u128());
        let key_by = query.key_by.unwrap_or_default();
        let watched = Watching { app, frames, feed, end, key_by };
        let events = stream::unfold(watched, move |mut watching| {
            // The stream outlives its request, and works for the same team.
            tenant.scope(async move {
                let bytes = watching.next().await?;
                Some((Ok::<_, Infallible>(bytes), watching))
            })
        });
        Ok(Answer::streamed(Body::from_stream(events.fuse())))
    }
}

/// A stream and all that it needs. Its reader asks for the next event when there is room to send it.
struct Watching {
    app: Arc<App>,
    frames: Arc<EventFrames>,
    feed: Feed,
    end: Pin<Box<Sleep>>,
    key_by: KeyBy,
}

impl Watching {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            let event = if self.feed.has_next() {
                self.feed.next().await?
            } else {
                // Only waiting is cut short: what is there is sent.
                tokio::select! {
                    biased;
                    event = self.feed.next() => event?,
                    () = &mut self.end => return None,
                }
            };
            let bytes = match event {
                Event::Rows(changed) => {
                    let team = self.feed.team();
                    let rows = self.frames.rows(&self.app, team, &changed, self.key_by).await.ok()?;
                    let Some((bytes, told)) = rows else {
                        self.feed.give_up();
                        continue;
                    };
                    self.feed.told(told);
                    return Some(bytes);
                }
                Event::Project(project) => event::render_project(project.version),
                Event::Status { seq, standing } => event::render_status(seq, &standing),
                Event::Reset => event::render_reset(),
                Event::Quiet => return Some(Bytes::from_static(event::QUIET)),
            };
            return bytes.ok().map(Bytes::from);
        }
    }
}
