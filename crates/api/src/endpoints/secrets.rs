//! The caller's team's secrets.

use axum::http::Method;
use rowmill_model::Scopes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::answer::Answer;
use crate::endpoint::{Call, Endpoint, Examples};
use crate::error::Error;
use crate::payload::{Json, Nothing};
use crate::state::ApiState;
use crate::wire::Deleted;
use crate::wire::credentials::{SecretBody, SecretOut};

const TAG: &str = "Credentials";

/// Names a team secret.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct SecretPath {
    /// The secret's name: letters, digits, underscores and hyphens. Letter case matters.
    #[schemars(length(min = 1, max = 64), regex(pattern = "^[A-Za-z0-9_-]+$"), extend("example" = "CRM_TOKEN"))]
    name: String,
}

pub(crate) struct ListSecrets;

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SecretNames {
    /// By name.
    secrets: Vec<SecretOut>,
}

impl Endpoint<ApiState> for ListSecrets {
    const METHOD: Method = Method::GET;
    const ID: &'static str = "listSecrets";
    const SCOPES: Scopes = Scopes::READ;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "List team secrets";
    const DESCRIPTION: &'static str = "Lists the names of the team's secrets. Values are never returned.";
    type Path = Nothing;
    type Query = Nothing;
    type Body = Nothing;
    type Out = SecretNames;

    fn examples() -> Examples {
        Examples { body: None, answer: Some(json!({ "secrets": [{ "name": "CRM_TOKEN" }] })) }
    }

    async fn handle(
        call: Call<ApiState>,
        _: Nothing,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<SecretNames>, Error> {
        let secrets = call.app().secrets(call.caller()?).await?;
        Ok(Answer::new(SecretNames { secrets: secrets.into_iter().map(SecretOut::from).collect() }))
    }
}

pub(crate) struct SetSecret;

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SecretSet {
    secret: SecretOut,
}

impl Endpoint<ApiState> for SetSecret {
    const METHOD: Method = Method::PUT;
    const ID: &'static str = "setSecret";
    const SCOPES: Scopes = Scopes::ADMIN;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Set a team secret";
    const DESCRIPTION: &'static str = "Stores a secret and replaces the previous one with that name. HTTP API columns use it as \
     `@{secret.NAME}`. It is encrypted at rest and never returned.";
    type Path = SecretPath;
    type Query = Nothing;
    type Body = Json<SecretBody>;
    type Out = SecretSet;

    fn examples() -> Examples {
        Examples {
            body: Some(json!({ "value": "your token" })),
            answer: Some(json!({ "secret": { "name": "CRM_TOKEN" } })),
        }
    }

    async fn handle(
        call: Call<ApiState>,
        path: SecretPath,
        _: Nothing,
        Json(body): Json<SecretBody>,
    ) -> Result<Answer<SecretSet>, Error> {
        call.app().set_secret(call.caller()?, &path.name, &body.value).await?;
        Ok(Answer::new(SecretSet { secret: SecretOut::named(path.name) }))
    }
}

pub(crate) struct DeleteSecret;

impl Endpoint<ApiState> for DeleteSecret {
    const METHOD: Method = Method::DELETE;
    const ID: &'static str = "deleteSecret";
    const SCOPES: Scopes = Scopes::ADMIN;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Delete a team secret";
    const DESCRIPTION: &'static str = "Deletes the secret. Columns that use it fail until it is set again.";
    type Path = SecretPath;
    type Query = Nothing;
    type Body = Nothing;
    type Out = Deleted;

    async fn handle(
        call: Call<ApiState>,
        path: SecretPath,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<Deleted>, Error> {
        call.app().delete_secret(call.caller()?, &path.name).await?;
        Ok(Answer::new(Deleted { deleted_count: 1 }))
    }
}
