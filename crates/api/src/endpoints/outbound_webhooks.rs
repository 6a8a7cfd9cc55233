//! The caller's team's outbound webhooks.

use axum::http::{Method, StatusCode};
use rowmill_app::NewWebhook;
use rowmill_model::{Scopes, Webhook};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::endpoint::{Call, Endpoint, Examples, Repeats};
use crate::error::Error;
use crate::payload::{Json, Nothing, Optional};
use crate::state::ApiState;
use crate::wire::Deleted;
use crate::wire::outbound_webhook::{WebhookCreate, WebhookOut, WebhookPatch, WebhookRotate};

pub(super) const TAG: &str = "Webhooks";

/// Names a webhook.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WebhookPath {
    /// The webhook's id.
    #[schemars(length(min = 1, max = 64), extend("example" = "hook_0190f0e0a1b27c3d8e4f0123456789ab"))]
    pub(super) webhook_id: String,
}

pub(crate) struct ListWebhooks;

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "WebhookList")]
pub(crate) struct Webhooks {
    /// Oldest first.
    webhooks: Vec<WebhookOut>,
}

impl Endpoint<ApiState> for ListWebhooks {
    const METHOD: Method = Method::GET;
    const ID: &'static str = "listWebhooks";
    const SCOPES: Scopes = Scopes::ADMIN;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "List webhooks";
    const DESCRIPTION: &'static str = "Lists the team's outbound webhooks, without their secrets.";
    type Path = Nothing;
    type Query = Nothing;
    type Body = Nothing;
    type Out = Webhooks;

    fn examples() -> Examples {
        Examples { body: None, answer: Some(json!({ "webhooks": [example()] })) }
    }

    async fn handle(
        call: Call<ApiState>,
        _: Nothing,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<Webhooks>, Error> {
        let webhooks = call.app().webhooks(call.caller()?).await?;
        let problems = call.app().webhook_problems(call.caller()?, &webhooks).await?;
        let now_ms = call.app().now_ms();
        let shown = webhooks.into_iter().zip(problems);
        let webhooks = shown.map(|(webhook, problems)| WebhookOut::new(webhook, problems, now_ms)).collect();
        Ok(Answer::new(Webhooks { webhooks }))
    }
}

pub(crate) struct CreateWebhook;

/// A webhook with its secret.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WebhookCreated {
    webhook: WebhookOut,
    /// What deliveries are signed with, by the Standard Webhooks specification. It is shown only once.
    #[schemars(length(max = 128))]
    secret: String,
}

impl WebhookCreated {
    async fn new(NewWebhook { webhook, secret }: NewWebhook, call: &Call<ApiState>) -> Result<Self, Error> {
        Ok(Self { webhook: shown(webhook, call).await?, secret })
    }
}

/// A webhook as it is shown, with what is wrong with it.
async fn shown(webhook: Webhook, call: &Call<ApiState>) -> Result<WebhookOut, Error> {
    let problems = call.app().webhook_problems(call.caller()?, std::slice::from_ref(&webhook)).await?;
    Ok(WebhookOut::new(webhook, problems.into_iter().flatten().collect(), call.app().now_ms()))
}

impl Endpoint<ApiState> for CreateWebhook {
    const METHOD: Method = Method::POST;
    const ID: &'static str = "createWebhook";
    const SCOPES: Scopes = Scopes::ADMIN.and(Scopes::READ);
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Create a webhook";
    const DESCRIPTION: &'static str = "Creates an outbound webhook: from now on, events are sent to the URL as POST requests, signed by the \
     Standard Webhooks specification. Deliveries are made at least once, and retried over about a day and a half. \
     The secret is shown only once. Events carry rows, so the key must be allowed to read.";
    const STATUS: StatusCode = StatusCode::CREATED;
    const REPEATS: Repeats = Repeats::Never;
    type Path = Nothing;
    type Query = Nothing;
    type Body = Json<WebhookCreate>;
    type Out = WebhookCreated;

    fn examples() -> Examples {
        Examples {
            body: Some(
                json!({ "url": "https://example.com/hooks/rowmill", "events": ["row.created", "run.finished"] }),
            ),
            answer: Some(json!({ "webhook": example(), "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" })),
        }
    }

    async fn handle(
        call: Call<ApiState>,
        _: Nothing,
        _: Nothing,
        Json(body): Json<WebhookCreate>,
    ) -> Result<Answer<WebhookCreated>, Error> {
        let created = call.app().create_webhook(call.caller()?, body.into()).await?;
        Ok(Answer::new(WebhookCreated::new(created, &call).await?))
    }
}

pub(crate) struct GetWebhook;

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "WebhookAnswer")]
pub(crate) struct OneWebhook {
    webhook: WebhookOut,
}

impl Endpoint<ApiState> for GetWebhook {
    const METHOD: Method = Method::GET;
    const ID: &'static str = "getWebhook";
    const SCOPES: Scopes = Scopes::ADMIN;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Get a webhook";
    const DESCRIPTION: &'static str = "Returns a webhook, without its secret.";
    type Path = WebhookPath;
    type Query = Nothing;
    type Body = Nothing;
    type Out = OneWebhook;

    fn examples() -> Examples {
        Examples { body: None, answer: Some(json!({ "webhook": example() })) }
    }

    async fn handle(
        call: Call<ApiState>,
        path: WebhookPath,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<OneWebhook>, Error> {
        let webhook = call.app().webhook(call.caller()?, &path.webhook_id).await?;
        Ok(Answer::new(OneWebhook { webhook: shown(webhook, &call).await? }))
    }
}

pub(crate) struct UpdateWebhook;

impl Endpoint<ApiState> for UpdateWebhook {
    const METHOD: Method = Method::PATCH;
    const ID: &'static str = "updateWebhook";
    const SCOPES: Scopes = Scopes::ADMIN.and(Scopes::READ);
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Update a webhook";
    const DESCRIPTION: &'static str = "Changes a webhook. It holds for events from now on; events that wait are sent to the new URL. `enabled: true` \
     enables a webhook that was disabled; use the replay to send what failed meanwhile.";
    type Path = WebhookPath;
    type Query = Nothing;
    type Body = Json<WebhookPatch>;
    type Out = OneWebhook;

    fn examples() -> Examples {
        Examples { body: Some(json!({ "enabled": true })), answer: Some(json!({ "webhook": example() })) }
    }

    async fn handle(
        call: Call<ApiState>,
        path: WebhookPath,
        _: Nothing,
        Json(body): Json<WebhookPatch>,
    ) -> Result<Answer<OneWebhook>, Error> {
        let webhook = call.app().change_webhook(call.caller()?, &path.webhook_id, body.into()).await?;
        Ok(Answer::new(OneWebhook { webhook: shown(webhook, &call).await? }))
    }
}

pub(crate) struct DeleteWebhook;

impl Endpoint<ApiState> for DeleteWebhook {
    const METHOD: Method = Method::DELETE;
    const ID: &'static str = "deleteWebhook";
    const SCOPES: Scopes = Scopes::ADMIN;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Delete a webhook";
    const DESCRIPTION: &'static str = "Deletes a webhook with its deliveries, also those that wait.";
    type Path = WebhookPath;
    type Query = Nothing;
    type Body = Nothing;
    type Out = Deleted;

    async fn handle(
        call: Call<ApiState>,
        path: WebhookPath,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<Deleted>, Error> {
        call.app().delete_webhook(call.caller()?, &path.webhook_id).await?;
        Ok(Answer::new(Deleted { deleted_count: 1 }))
    }
}

pub(crate) struct RotateWebhookSecret;

impl Endpoint<ApiState> for RotateWebhookSecret {
    const METHOD: Method = Method::POST;
    const ID: &'static str = "rotateWebhookSecret";
    const SCOPES: Scopes = Scopes::ADMIN;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Replace a webhook's secret";
    const DESCRIPTION: &'static str = "Gives the webhook a new secret, which is shown only once. Deliveries are signed with both secrets for 24 \
     hours, or as long as `overlapHours` says, so that receivers can change over.";
    const REPEATS: Repeats = Repeats::Never;
    type Path = WebhookPath;
    type Query = Nothing;
    type Body = Optional<WebhookRotate>;
    type Out = WebhookCreated;

    fn examples() -> Examples {
        Examples {
            body: Some(json!({ "overlapHours": 24 })),
            answer: Some(json!({ "webhook": example(), "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" })),
        }
    }

    async fn handle(
        call: Call<ApiState>,
        path: WebhookPath,
        _: Nothing,
        Optional(WebhookRotate { overlap_hours }): Optional<WebhookRotate>,
    ) -> Result<Answer<WebhookCreated>, Error> {
        let caller = call.caller()?;
        let rotated = call.app().rotate_webhook_secret(caller, &path.webhook_id, overlap_hours).await?;
        Ok(Answer::new(WebhookCreated::new(rotated, &call).await?))
    }
}

pub(crate) struct TestWebhook;

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WebhookTested {
    /// The type of the event that is sent.
    #[serde(rename = "type")]
    #[schemars(length(max = 64))]
    kind: &'static str,
}

impl Endpoint<ApiState> for TestWebhook {
    const METHOD: Method = Method::POST;
    const ID: &'static str = "testWebhook";
    const SCOPES: Scopes = Scopes::ADMIN;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Send a test event";
    const DESCRIPTION: &'static str = "Sends an event of the type `webhook.test` within a second. The webhook's deliveries say what the receiver \
     answered. A webhook that is disabled must be enabled first.";
    const STATUS: StatusCode = StatusCode::ACCEPTED;
    const REPEATS: Repeats = Repeats::WithAnswer;
    type Path = WebhookPath;
    type Query = Nothing;
    type Body = Nothing;
    type Out = WebhookTested;

    fn examples() -> Examples {
        Examples { body: None, answer: Some(json!({ "type": "webhook.test" })) }
    }

    async fn handle(
        call: Call<ApiState>,
        path: WebhookPath,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<WebhookTested>, Error> {
        call.app().test_webhook(call.caller()?, &path.webhook_id).await?;
        Ok(Answer::new(WebhookTested { kind: rowmill_model::webhook::TEST_EVENT }))
    }
}

fn example() -> Value {
    json!({
        "id": "hook_0190f0e0a1b27c3d8e4f0123456789ab", "url": "https://example.com/hooks/rowmill",
        "description": "CRM", "events": ["row.created", "run.finished"], "projectIds": null, "columnIds": null,
        "enabled": true, "failingSince": null, "droppingSince": null, "oldSecretUntil": null, "problems": [],
        "createdAt": "2026-11-15T09:30:00.000Z",
    })
}
