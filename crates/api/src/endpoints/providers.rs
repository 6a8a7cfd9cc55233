//! What the caller's team calls providers with.

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
use crate::wire::credentials::{CredentialBody, ProviderOut};

const TAG: &str = "Credentials";

/// Names a provider.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ProviderPath {
    /// The provider's id, from the list of providers.
    #[schemars(length(min = 1, max = 64), extend("example" = "hunter"))]
    pub(super) provider: String,
}

pub(crate) struct ListProviders;

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ProviderList")]
pub(crate) struct Providers {
    /// Finders are in the order in which a new waterfall tries them.
    providers: Vec<ProviderOut>,
}

impl Endpoint<ApiState> for ListProviders {
    const METHOD: Method = Method::GET;
    const ID: &'static str = "listProviders";
    const SCOPES: Scopes = Scopes::READ;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "List providers";
    const DESCRIPTION: &'static str =
        "Lists all providers and whether the team can use them. API keys are never returned.";
    type Path = Nothing;
    type Query = Nothing;
    type Body = Nothing;
    type Out = Providers;

    fn examples() -> Examples {
        let answer = json!({ "providers": [
            { "id": "openai", "kind": "ai", "tasks": [], "label": "OpenAI-compatible", "configured": true, "source": "environment" },
            { "id": "hunter", "kind": "finder", "tasks": ["waterfallEmail", "verifyEmail", "findCompany", "findPeople"], "label": "Hunter", "configured": true, "source": "team" },
            { "id": "wiza", "kind": "finder", "tasks": ["waterfallEmail"], "label": "Wiza", "configured": false, "source": null },
            { "id": "pattern", "kind": "finder", "tasks": ["waterfallEmail"], "label": "Pattern guess", "configured": true, "source": null },
        ]});
        Examples { body: None, answer: Some(answer) }
    }

    async fn handle(
        call: Call<ApiState>,
        _: Nothing,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<Providers>, Error> {
        let providers = call.app().providers(call.caller()?).await?;
        Ok(Answer::new(Providers { providers: providers.into_iter().map(ProviderOut::from).collect() }))
    }
}

pub(crate) struct SetProvider;

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProviderSet {
    provider: ProviderOut,
}

impl Endpoint<ApiState> for SetProvider {
    const METHOD: Method = Method::PUT;
    const ID: &'static str = "setProvider";
    const SCOPES: Scopes = Scopes::ADMIN;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Set a provider's credential";
    const DESCRIPTION: &'static str = "Sets the team's credential for a provider and replaces the previous one. It is encrypted at rest, \
     never returned, and takes precedence over the operator's.";
    type Path = ProviderPath;
    type Query = Nothing;
    type Body = Json<CredentialBody>;
    type Out = ProviderSet;

    fn examples() -> Examples {
        Examples {
            body: Some(json!({ "apiKey": "your API key" })),
            answer: Some(json!({ "provider": {
                "id": "hunter", "kind": "finder", "tasks": ["waterfallEmail", "verifyEmail", "findCompany", "findPeople"], "label": "Hunter", "configured": true, "source": "team",
            }})),
        }
    }

    async fn handle(
        call: Call<ApiState>,
        path: ProviderPath,
        _: Nothing,
        Json(body): Json<CredentialBody>,
    ) -> Result<Answer<ProviderSet>, Error> {
        let state = call.app().set_provider(call.caller()?, &path.provider, body.into()).await?;
        Ok(Answer::new(ProviderSet { provider: state.into() }))
    }
}

pub(crate) struct DeleteProvider;

impl Endpoint<ApiState> for DeleteProvider {
    const METHOD: Method = Method::DELETE;
    const ID: &'static str = "deleteProvider";
    const SCOPES: Scopes = Scopes::ADMIN;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Delete a provider's credential";
    const DESCRIPTION: &'static str = "Deletes the team's credential, if there is one (`deletedCount` is 0 or 1). The operator's credential, \
     if there is one, is used again.";
    type Path = ProviderPath;
    type Query = Nothing;
    type Body = Nothing;
    type Out = Deleted;

    async fn handle(
        call: Call<ApiState>,
        path: ProviderPath,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<Deleted>, Error> {
        let deleted = call.app().delete_provider(call.caller()?, &path.provider).await?;
        Ok(Answer::new(Deleted { deleted_count: deleted.into() }))
    }
}
