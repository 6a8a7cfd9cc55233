//! A project's inbound hooks.

use axum::http::{Method, StatusCode};
use rowmill_app::NewHook;
use rowmill_model::Scopes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ProjectPath;
use crate::answer::Answer;
use crate::endpoint::{Call, Endpoint, Examples, Repeats};
use crate::error::Error;
use crate::payload::{Json, Nothing, Optional};
use crate::state::ApiState;
use crate::wire::Deleted;
use crate::wire::hook::{HookCreate, HookOut, HookPatch, HookRotate};

pub(super) const TAG: &str = "Inbound webhooks";

/// Names a hook.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HookPath {
    /// The project's id.
    #[schemars(length(min = 1, max = 64), extend("example" = "proj_0190f0e0a1b27c3d8e4f0123456789ab"))]
    project_id: String,
    /// The hook's id.
    #[schemars(length(min = 1, max = 64), extend("example" = "inb_0190f0e0a1b27c3d8e4f0123456789ab"))]
    hook_id: String,
}

pub(crate) struct ListHooks;

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "HookList")]
pub(crate) struct Hooks {
    /// Oldest first.
    hooks: Vec<HookOut>,
}

impl Endpoint<ApiState> for ListHooks {
    const METHOD: Method = Method::GET;
    const ID: &'static str = "listHooks";
    const SCOPES: Scopes = Scopes::ADMIN;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "List inbound hooks";
    const DESCRIPTION: &'static str = "Lists the project's inbound hooks, without their addresses.";
    type Path = ProjectPath;
    type Query = Nothing;
    type Body = Nothing;
    type Out = Hooks;

    fn examples() -> Examples {
        Examples { body: None, answer: Some(json!({ "hooks": [example()] })) }
    }

    async fn handle(
        call: Call<ApiState>,
        path: ProjectPath,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<Hooks>, Error> {
        let hooks = call.app().hooks(call.caller()?, &path.project_id).await?;
        let now_ms = call.app().now_ms();
        let hooks = hooks.into_iter().map(|hook| HookOut::new(hook, now_ms)).collect();
        Ok(Answer::new(Hooks { hooks }))
    }
}

pub(crate) struct CreateHook;

/// A hook with its address.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HookCreated {
    hook: HookOut,
    /// The address to send to. It is a secret, and is shown only once.
    #[schemars(length(max = 10_000))]
    url: String,
}

impl HookCreated {
    fn new(NewHook { seen, secret }: NewHook, call: &Call<ApiState>) -> Self {
        let url = format!("{}/hooks/{}/{secret}", call.reached().base_url(), seen.project);
        Self { hook: HookOut::new(seen, call.app().now_ms()), url }
    }
}

impl Endpoint<ApiState> for CreateHook {
    const METHOD: Method = Method::POST;
    const ID: &'static str = "createHook";
    const SCOPES: Scopes = Scopes::ADMIN.and(Scopes::WRITE);
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Create an inbound hook";
    const DESCRIPTION: &'static str = "Creates an address that takes any JSON, or a form, as rows of the project. Whoever knows the address can \
     send to it; it is shown only once. A hook writes rows for others, so the key must be allowed to write; for \
     `unknownKeys: addColumns` it also needs the scope `schema`.";
    const STATUS: StatusCode = StatusCode::CREATED;
    const REPEATS: Repeats = Repeats::Never;
    type Path = ProjectPath;
    type Query = Nothing;
    type Body = Json<HookCreate>;
    type Out = HookCreated;

    fn examples() -> Examples {
        Examples {
            body: Some(
                json!({ "name": "Contact form", "matchOn": "Email", "headers": { "X-Source": "Source" } }),
            ),
            answer: Some(created_example()),
        }
    }

    async fn handle(
        call: Call<ApiState>,
        path: ProjectPath,
        _: Nothing,
        Json(body): Json<HookCreate>,
    ) -> Result<Answer<HookCreated>, Error> {
        let created = call.app().create_hook(call.caller()?, &path.project_id, body.into()).await?;
        Ok(Answer::new(HookCreated::new(created, &call)))
    }
}

pub(crate) struct GetHook;

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "HookAnswer")]
pub(crate) struct OneHook {
    hook: HookOut,
}

impl Endpoint<ApiState> for GetHook {
    const METHOD: Method = Method::GET;
    const ID: &'static str = "getHook";
    const SCOPES: Scopes = Scopes::ADMIN;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Get an inbound hook";
    const DESCRIPTION: &'static str = "Returns a hook, without its address.";
    type Path = HookPath;
    type Query = Nothing;
    type Body = Nothing;
    type Out = OneHook;

    fn examples() -> Examples {
        Examples { body: None, answer: Some(json!({ "hook": example() })) }
    }

    async fn handle(
        call: Call<ApiState>,
        path: HookPath,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<OneHook>, Error> {
        let hook = call.app().hook(call.caller()?, &path.project_id, &path.hook_id).await?;
        Ok(Answer::new(OneHook { hook: HookOut::new(hook, call.app().now_ms()) }))
    }
}

pub(crate) struct UpdateHook;

impl Endpoint<ApiState> for UpdateHook {
    const METHOD: Method = Method::PATCH;
    const ID: &'static str = "updateHook";
    const SCOPES: Scopes = Scopes::ADMIN.and(Scopes::WRITE);
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Update an inbound hook";
    const DESCRIPTION: &'static str = "Changes a hook. It holds for deliveries from now on, and for those that are replayed. A hook that is \
     disabled still keeps deliveries, so that they can be replayed later. `unknownKeys: addColumns` also needs the \
     scope `schema`.";
    type Path = HookPath;
    type Query = Nothing;
    type Body = Json<HookPatch>;
    type Out = OneHook;

    fn examples() -> Examples {
        Examples {
            body: Some(json!({ "unknownKeys": "addColumns" })),
            answer: Some(json!({ "hook": example() })),
        }
    }

    async fn handle(
        call: Call<ApiState>,
        path: HookPath,
        _: Nothing,
        Json(body): Json<HookPatch>,
    ) -> Result<Answer<OneHook>, Error> {
        let caller = call.caller()?;
        let hook = call.app().change_hook(caller, &path.project_id, &path.hook_id, body.into()).await?;
        Ok(Answer::new(OneHook { hook: HookOut::new(hook, call.app().now_ms()) }))
    }
}

pub(crate) struct DeleteHook;

impl Endpoint<ApiState> for DeleteHook {
    const METHOD: Method = Method::DELETE;
    const ID: &'static str = "deleteHook";
    const SCOPES: Scopes = Scopes::ADMIN;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Delete an inbound hook";
    const DESCRIPTION: &'static str = "Deletes a hook: its address does not work any more. Its rows stay, and so does the log of its deliveries.";
    type Path = HookPath;
    type Query = Nothing;
    type Body = Nothing;
    type Out = Deleted;

    async fn handle(
        call: Call<ApiState>,
        path: HookPath,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<Deleted>, Error> {
        call.app().delete_hook(call.caller()?, &path.project_id, &path.hook_id).await?;
        Ok(Answer::new(Deleted { deleted_count: 1 }))
    }
}

pub(crate) struct RotateHook;

impl Endpoint<ApiState> for RotateHook {
    const METHOD: Method = Method::POST;
    const ID: &'static str = "rotateHook";
    const SCOPES: Scopes = Scopes::ADMIN.and(Scopes::WRITE);
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Replace a hook's address";
    const DESCRIPTION: &'static str = "Gives the hook a new address, which is shown only once. The old one works, too, for 24 hours, or as long as \
     `overlapHours` says, so that senders can change over.";
    const REPEATS: Repeats = Repeats::Never;
    type Path = HookPath;
    type Query = Nothing;
    type Body = Optional<HookRotate>;
    type Out = HookCreated;

    fn examples() -> Examples {
        Examples { body: Some(json!({ "overlapHours": 24 })), answer: Some(created_example()) }
    }

    async fn handle(
        call: Call<ApiState>,
        path: HookPath,
        _: Nothing,
        Optional(HookRotate { overlap_hours }): Optional<HookRotate>,
    ) -> Result<Answer<HookCreated>, Error> {
        let caller = call.caller()?;
        let rotated = call.app().rotate_hook(caller, &path.project_id, &path.hook_id, overlap_hours).await?;
        Ok(Answer::new(HookCreated::new(rotated, &call)))
    }
}

fn example() -> Value {
    json!({
        "id": "inb_0190f0e0a1b27c3d8e4f0123456789ab", "projectId": "proj_0190f0e0a1b27c3d8e4f0123456789ab",
        "name": "Contact form", "enabled": true, "unknownKeys": "keep", "matchOn": "col_4fJq0ZtR9xWb",
        "matchCase": true, "headers": { "x-source": "col_7hKr2XvT1yZc" }, "addressEnd": "x3Kq",
        "oldAddressUntil": null, "problems": [], "createdAt": "2026-11-15T09:30:00.000Z",
    })
}

fn created_example() -> Value {
    let url = "https://rowmill.example/hooks/proj_0190f0e0a1b27c3d8e4f0123456789ab/\
               Zk0sTq3o1b7mXn2c9vRw5yUe8iPa4dGh6jLkBfMx3Kq";
    json!({ "hook": example(), "url": url })
}
