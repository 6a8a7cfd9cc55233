//! The browsers that are signed in to the caller's team.

use axum::http::Method;
use rowmill_app::{Caller, Session, session_name};
use rowmill_model::Scopes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::Answer;
use crate::endpoint::{Call, Endpoint};
use crate::error::Error;
use crate::payload::Nothing;
use crate::state::ApiState;
use crate::wire::{Deleted, timestamp};

const TAG: &str = "Team";

/// Names a session.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionPath {
    /// The session's id. It is not secret.
    #[schemars(length(min = 1, max = 64), extend("example" = "sess_0190f0e0a1b27c3d8e4f0123456789ab"))]
    session_id: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SessionList")]
pub(crate) struct Sessions {
    /// Newest first, at most 1,000.
    sessions: Vec<SessionOut>,
}

/// A browser that is signed in.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Session")]
struct SessionOut {
    #[schemars(length(max = 37), regex(pattern = "^sess_[0-9a-f]{32}$"))]
    id: String,
    /// The API key that it signed in with.
    #[schemars(length(max = 36), regex(pattern = "^key_[0-9a-f]{32}$"))]
    key_id: String,
    /// What the browser calls itself (`User-Agent`).
    #[schemars(length(max = 255))]
    browser: String,
    #[schemars(extend("format" = "date-time"))]
    created_at: String,
    /// Accurate to the minute.
    #[schemars(extend("format" = "date-time"))]
    last_seen_at: String,
    #[schemars(extend("format" = "date-time"))]
    expires_at: String,
    /// Whether this is the session of this request.
    current: bool,
}

impl SessionOut {
    fn new(session: Session, caller: Caller) -> Self {
        let current = matches!(caller, Caller::Key(principal) if principal.session == Some(session.id));
        let Session { id, team: _, key, browser, created_at_ms, seen_at_ms, expires_at_ms } = session;
        Self {
            id: session_name(id),
            key_id: key.to_string(),
            browser,
            created_at: timestamp(created_at_ms),
            last_seen_at: timestamp(seen_at_ms),
            expires_at: timestamp(expires_at_ms),
            current,
        }
    }
}

pub(crate) struct ListSessions;

impl Endpoint<ApiState> for ListSessions {
    const METHOD: Method = Method::GET;
    const ID: &'static str = "listSessions";
    const SCOPES: Scopes = Scopes::ADMIN;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "List signed-in browsers";
    const DESCRIPTION: &'static str = "Lists the browsers that are signed in to the team.";
    type Path = Nothing;
    type Query = Nothing;
    type Body = Nothing;
    type Out = Sessions;

    async fn handle(
        call: Call<ApiState>,
        _: Nothing,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<Sessions>, Error> {
        let caller = call.caller()?;
        let sessions = call.app().sessions(caller).await?;
        let sessions = sessions.into_iter().map(|session| SessionOut::new(session, caller)).collect();
        Ok(Answer::new(Sessions { sessions }))
    }
}

pub(crate) struct EndSession;

impl Endpoint<ApiState> for EndSession {
    const METHOD: Method = Method::DELETE;
    const ID: &'static str = "endSession";
    const SCOPES: Scopes = Scopes::ADMIN;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Sign out a browser";
    const DESCRIPTION: &'static str = "Ends a session of the team. All nodes reject it within a second.";
    type Path = SessionPath;
    type Query = Nothing;
    type Body = Nothing;
    type Out = Deleted;

    async fn handle(
        call: Call<ApiState>,
        path: SessionPath,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<Deleted>, Error> {
        call.app().end_session(call.caller()?, &path.session_id).await?;
        Ok(Answer::new(Deleted { deleted_count: 1 }))
    }
}

pub(crate) struct EndOtherSessions;

impl Endpoint<ApiState> for EndOtherSessions {
    const METHOD: Method = Method::DELETE;
    const ID: &'static str = "endOtherSessions";
    const SCOPES: Scopes = Scopes::ADMIN;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Sign out all other browsers";
    const DESCRIPTION: &'static str = "Ends all sessions of the team except the one of this request.";
    type Path = Nothing;
    type Query = Nothing;
    type Body = Nothing;
    type Out = Deleted;

    async fn handle(
        call: Call<ApiState>,
        _: Nothing,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<Deleted>, Error> {
        let deleted_count = call.app().end_other_sessions(call.caller()?).await?;
        Ok(Answer::new(Deleted { deleted_count }))
    }
}
