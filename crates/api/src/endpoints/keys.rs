//! The caller's team's API keys.

use axum::http::{Method, StatusCode};
use rowmill_app::{Caller, NewKey};
use rowmill_model::Scopes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::Answer;
use crate::endpoint::{Call, Endpoint, Repeats};
use crate::error::Error;
use crate::payload::{Json, Nothing, Optional};
use crate::state::ApiState;
use crate::wire::Deleted;
use crate::wire::team::{KeyCreate, KeyOut, KeyRotate};

const TAG: &str = "Team";

/// Names an API key.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KeyPath {
    /// The key's id. It is not secret.
    #[schemars(length(min = 1, max = 64), extend("example" = "key_0190f0e0a1b27c3d8e4f0123456789ab"))]
    key_id: String,
}

pub(crate) struct ListKeys;

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "KeyList")]
pub(crate) struct Keys {
    /// Oldest first.
    keys: Vec<KeyOut>,
}

impl Endpoint<ApiState> for ListKeys {
    const METHOD: Method = Method::GET;
    const ID: &'static str = "listKeys";
    const SCOPES: Scopes = Scopes::ADMIN;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "List API keys";
    const DESCRIPTION: &'static str = "Lists the team's active API keys, without their secrets.";
    type Path = Nothing;
    type Query = Nothing;
    type Body = Nothing;
    type Out = Keys;

    async fn handle(call: Call<ApiState>, _: Nothing, _: Nothing, _: Nothing) -> Result<Answer<Keys>, Error> {
        let caller = call.caller()?;
        let keys = call.app().own_keys(caller).await?;
        Ok(Answer::new(Keys { keys: keys.into_iter().map(|key| KeyOut::new(key, caller)).collect() }))
    }
}

pub(crate) struct CreateKey;

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct KeyCreated {
    key: KeyOut,
    /// The API key to send as the bearer token. It is shown only once and stored only as a hash.
    #[schemars(length(max = 128))]
    secret: String,
}

impl KeyCreated {
    fn new(new_key: NewKey, caller: Caller) -> Self {
        let secret = new_key.secret.reveal().to_owned();
        Self { key: KeyOut::new(new_key.key, caller), secret }
    }
}

impl Endpoint<ApiState> for CreateKey {
    const METHOD: Method = Method::POST;
    const ID: &'static str = "createKey";
    const SCOPES: Scopes = Scopes::ADMIN;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Create an API key";
    const DESCRIPTION: &'static str = "Creates an API key for the team. The secret is shown only once.

A key never has more than the key that creates it: further scopes are 403 `missing_scope`; a later expiry and other \
addresses are 400. A key that is limited to projects cannot have `admin`, and cannot create projects.";
    const STATUS: StatusCode = StatusCode::CREATED;
    const REPEATS: Repeats = Repeats::Never;
    type Path = Nothing;
    type Query = Nothing;
    type Body = Json<KeyCreate>;
    type Out = KeyCreated;

    async fn handle(
        call: Call<ApiState>,
        _: Nothing,
        _: Nothing,
        Json(body): Json<KeyCreate>,
    ) -> Result<Answer<KeyCreated>, Error> {
        let caller = call.caller()?;
        let new_key = call.app().create_own_key(caller, body.into()).await?;
        Ok(Answer::new(KeyCreated::new(new_key, caller)))
    }
}

pub(crate) struct RotateKey;

impl Endpoint<ApiState> for RotateKey {
    const METHOD: Method = Method::POST;
    const ID: &'static str = "rotateKey";
    const SCOPES: Scopes = Scopes::ADMIN;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Rotate an API key";
    const DESCRIPTION: &'static str = "Creates a key with the name and the restrictions of an existing one, which keeps working for a \
                                       while and then expires. Browsers signed in with the old key are signed out then.";
    const STATUS: StatusCode = StatusCode::CREATED;
    const REPEATS: Repeats = Repeats::Never;
    type Path = KeyPath;
    type Query = Nothing;
    type Body = Optional<KeyRotate>;
    type Out = KeyCreated;

    async fn handle(
        call: Call<ApiState>,
        path: KeyPath,
        _: Nothing,
        Optional(body): Optional<KeyRotate>,
    ) -> Result<Answer<KeyCreated>, Error> {
        let caller = call.caller()?;
        let new_key = call.app().rotate_own_key(caller, &path.key_id, body.into()).await?;
        Ok(Answer::new(KeyCreated::new(new_key, caller)))
    }
}

pub(crate) struct DeleteKey;

impl Endpoint<ApiState> for DeleteKey {
    const METHOD: Method = Method::DELETE;
    const ID: &'static str = "deleteKey";
    const SCOPES: Scopes = Scopes::ADMIN;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Revoke an API key";
    const DESCRIPTION: &'static str =
        "Revokes an API key of the team and ends its sessions. A key cannot revoke itself.";
    type Path = KeyPath;
    type Query = Nothing;
    type Body = Nothing;
    type Out = Deleted;

    async fn handle(
        call: Call<ApiState>,
        path: KeyPath,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<Deleted>, Error> {
        call.app().revoke_own_key(call.caller()?, &path.key_id).await?;
        Ok(Answer::new(Deleted { deleted_count: 1 }))
    }
}
