//! A small API on the kit, and a way to call it.

use axum::Router;
use axum::body::Body;
use axum::http::header::{AUTHORIZATION, HeaderValue};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode};
use http_body_util::BodyExt as _;
use rowmill_api::{
    Access, Answer as KitAnswer, Api, Call, Endpoint, Error, Examples, Fault, Finished, Head, Json, Nothing,
    Optional, Principal, RateKey, Raw, Service, Settings,
};
use rowmill_app::{Error as AppError, Noun};
use rowmill_fairness::Tenant;
use rowmill_model::{Limits, Scopes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tower::ServiceExt as _;
use uuid::Uuid;

const KEY: &str = "right";
/// Who may only read.
const READER: u128 = 8;

#[derive(Debug, Clone)]
pub(crate) struct State {
    is_ready: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Caller(Option<u128>);

impl Principal for Caller {
    fn rate_key(&self) -> Option<RateKey> {
        self.0.map(|key| RateKey { key, team: 0 })
    }

    fn tenant(&self) -> Tenant {
        self.0.map_or(Tenant::ANONYMOUS, Tenant::team)
    }
}

impl Service for State {
    type Principal = Caller;

    async fn authenticate(
        &self,
        access: Access,
        request: Head<'_>,
        _path: &Map<String, Value>,
    ) -> Result<Caller, Error> {
        match request.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()) {
            None if access == Access::OpenRead => Ok(Caller(None)),
            None => Err(AppError::Unauthenticated.into()),
            Some("Bearer right") => Ok(Caller(Some(7))),
            Some("Bearer reader") => Ok(Caller(Some(READER))),
            Some(_) => Err(AppError::InvalidKey.into()),
        }
    }

    async fn authorize(&self, caller: &Caller, scopes: Scopes, _: &Map<String, Value>) -> Result<(), Error> {
        let has = if caller.0 == Some(READER) { Scopes::READ } else { Scopes::ALL };
        has.lacks(scopes).map_or(Ok(()), |missing| Err(AppError::MissingScope(missing).into()))
    }

    async fn webhook_team(&self, team_id: &str) -> Result<u128, Error> {
        Ok(team_id.bytes().fold(0, |id, byte| id << 8 | u128::from(byte)))
    }

    async fn ready(&self) -> Result<(), Error> {
        if self.is_ready { Ok(()) } else { Err(AppError::Internal("secret".into()).into()) }
    }
}

pub(crate) fn define() -> Result<Finished<State>, Fault> {
    let limits = Limits { body_bytes_max: 2_000, filters_max: 2, ..Limits::default() };
    let mut api = Api::new(limits);
    api.tag("Things", "Things of a team.")
        .add::<CreateThing>("/v4/things")
        .add::<ListThings>("/v4/things")
        .add::<CountThings>("/v4/things")
        .add::<EchoThing>("/v4/things")
        .add::<GetThing>("/v4/things/{thingId}")
        .add::<OpenThings>("/v3/things")
        .add::<Deliver>("/webhooks/{teamId}")
        .add::<Broken>("/v4/broken")
        .add::<Panicking>("/v4/panicking");
    api.finish()
}

/// What makes a thing.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewThing {
    /// What it is called.
    #[schemars(length(min = 1, max = 255))]
    title: String,
    /// Words about it.
    #[serde(default)]
    #[schemars(extend("x-limit" = { "maxItems": "filtersMax" }))]
    tags: Vec<String>,
    note: Option<String>,
    #[serde(default)]
    #[schemars(with = "Vec<Part>", extend("x-unchecked" = true))]
    #[expect(dead_code, reason = "only taken, never looked at")]
    filters: Value,
}

/// A part, which may have parts.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Part {
    name: Option<String>,
    #[serde(default)]
    parts: Vec<Part>,
}

/// The thing that was made.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Made {
    id: String,
    tags: Vec<String>,
    note: Option<String>,
}

pub(crate) struct CreateThing;

impl Endpoint<State> for CreateThing {
    const METHOD: Method = Method::POST;
    const ID: &'static str = "createThing";
    const SCOPES: Scopes = Scopes::WRITE;
    const TAG: &'static str = "Things";
    const SUMMARY: &'static str = "Make a thing";
    const DESCRIPTION: &'static str = "Makes a thing, or answers 200 with the one there is.";
    const STATUS: StatusCode = StatusCode::CREATED;
    const STATUS_ALSO: Option<StatusCode> = Some(StatusCode::OK);
    type Path = Nothing;
    type Query = Nothing;
    type Body = Json<NewThing>;
    type Out = Made;

    fn examples() -> Examples {
        Examples {
            body: Some(json!({ "title": "one", "tags": ["a"] })),
            answer: Some(json!({ "id": "thing_one", "tags": ["a"], "note": null })),
        }
    }

    async fn handle(
        call: Call<State>,
        _path: Nothing,
        _query: Nothing,
        Json(NewThing { title, tags, note, .. }): Json<NewThing>,
    ) -> Result<KitAnswer<Made>, Error> {
        call.principal()?;
        let note = match call.idempotency {
            Some(idempotency) if note.is_some() => Some(format!("{:02x?}", idempotency.fingerprint)),
            _ => note,
        };
        let is_known = title == "known";
        let answer = KitAnswer::new(Made { id: format!("thing_{title}"), tags, note });
        Ok(if is_known { answer.with_status(StatusCode::OK) } else { answer })
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Page {
    /// Which page, from 1.
    #[serde(default)]
    #[schemars(range(min = 1), example = 1)]
    page: Option<u32>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Listed {
    page: u32,
    principal: Option<u64>,
}

fn list(call: &Call<State>, page: Option<u32>) -> KitAnswer<Listed> {
    let principal = call.principal.as_ref().and_then(|caller| u64::try_from(caller.0?).ok());
    KitAnswer::new(Listed { page: page.unwrap_or(1), principal })
}

pub(crate) struct ListThings;

impl Endpoint<State> for ListThings {
    const METHOD: Method = Method::GET;
    const ID: &'static str = "listThings";
    const SCOPES: Scopes = Scopes::READ;
    const TAG: &'static str = "Things";
    const SUMMARY: &'static str = "List things";
    const DESCRIPTION: &'static str = "Lists things.";
    type Path = Nothing;
    type Query = Page;
    type Body = Nothing;
    type Out = Listed;

    async fn handle(
        call: Call<State>,
        _: Nothing,
        query: Page,
        _: Nothing,
    ) -> Result<KitAnswer<Listed>, Error> {
        Ok(list(&call, query.page))
    }
}

pub(crate) struct OpenThings;

impl Endpoint<State> for OpenThings {
    const METHOD: Method = Method::GET;
    const ID: &'static str = "openThings";
    const SCOPES: Scopes = Scopes::READ;
    const TAG: &'static str = "Things";
    const SUMMARY: &'static str = "List open things";
    const DESCRIPTION: &'static str = "Lists things, with or without a key.";
    const ACCESS: Access = Access::OpenRead;
    type Path = Nothing;
    type Query = Page;
    type Body = Nothing;
    type Out = Listed;

    async fn handle(
        call: Call<State>,
        _: Nothing,
        query: Page,
        _: Nothing,
    ) -> Result<KitAnswer<Listed>, Error> {
        Ok(list(&call, query.page))
    }
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Counted {
    count: u32,
}

pub(crate) struct CountThings;

impl Endpoint<State> for CountThings {
    const METHOD: Method = Method::PATCH;
    const ID: &'static str = "countThings";
    const SCOPES: Scopes = Scopes::WRITE;
    const TAG: &'static str = "Things";
    const SUMMARY: &'static str = "Count things";
    const DESCRIPTION: &'static str = "Counts things; the body may be left out.";
    type Path = Nothing;
    type Query = Nothing;
    type Body = Optional<Counted>;
    type Out = Counted;

    async fn handle(
        _: Call<State>,
        _: Nothing,
        _: Nothing,
        Optional(counted): Optional<Counted>,
    ) -> Result<KitAnswer<Counted>, Error> {
        Ok(KitAnswer::new(counted))
    }
}

/// Anything.
#[derive(Debug, JsonSchema)]
#[schemars(transparent)]
pub(crate) struct Anything(#[expect(dead_code, reason = "only its schema is of interest")] Value);

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Echo {
    echo: String,
}

pub(crate) struct EchoThing;

impl Endpoint<State> for EchoThing {
    const METHOD: Method = Method::PUT;
    const ID: &'static str = "echoThing";
    const SCOPES: Scopes = Scopes::WRITE;
    const TAG: &'static str = "Things";
    const SUMMARY: &'static str = "Echo a thing";
    const DESCRIPTION: &'static str = "Answers what was sent, byte for byte.";
    type Path = Nothing;
    type Query = Nothing;
    type Body = Raw<Anything>;
    type Out = Echo;

    async fn handle(
        _: Call<State>,
        _: Nothing,
        _: Nothing,
        body: Raw<Anything>,
    ) -> Result<KitAnswer<Echo>, Error> {
        Ok(KitAnswer::rendered(format!(r#"{{"success":true,"echo":"{}"}}"#, body.text)))
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ThingPath {
    /// The thing.
    #[schemars(length(max = 64), regex(pattern = "^.+$"), example = &"thing_one")]
    thing_id: String,
}

/// A thing, and its parts.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Thing {
    id: String,
    part: Option<Part>,
}

pub(crate) struct GetThing;

impl Endpoint<State> for GetThing {
    const METHOD: Method = Method::GET;
    const ID: &'static str = "getThing";
    const SCOPES: Scopes = Scopes::READ;
    const TAG: &'static str = "Things";
    const SUMMARY: &'static str = "Get a thing";
    const DESCRIPTION: &'static str = "Answers a thing.";
    type Path = ThingPath;
    type Query = Nothing;
    type Body = Nothing;
    type Out = Thing;

    async fn handle(
        _: Call<State>,
        path: ThingPath,
        _: Nothing,
        _: Nothing,
    ) -> Result<KitAnswer<Thing>, Error> {
        if path.thing_id == "missing" {
            return Err(AppError::NotFound(Noun::Row).into());
        }
        Ok(KitAnswer::new(Thing { id: path.thing_id, part: None }))
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TeamPath {
    /// The team.
    #[schemars(length(max = 64), example = &"a")]
    #[expect(dead_code, reason = "only counted by the kit")]
    team_id: String,
}

/// Nothing to tell.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Done {}

pub(crate) struct Deliver;

impl Endpoint<State> for Deliver {
    const METHOD: Method = Method::POST;
    const ID: &'static str = "deliver";
    const SCOPES: Scopes = Scopes::NONE;
    const TAG: &'static str = "Things";
    const SUMMARY: &'static str = "Deliver an event";
    const DESCRIPTION: &'static str = "Takes an event.";
    const ACCESS: Access = Access::Webhook;
    type Path = TeamPath;
    type Query = Nothing;
    type Body = Nothing;
    type Out = Done;

    async fn handle(_: Call<State>, _: TeamPath, _: Nothing, _: Nothing) -> Result<KitAnswer<Done>, Error> {
        Ok(KitAnswer::new(Done {}))
    }
}

pub(crate) struct Broken;

impl Endpoint<State> for Broken {
    const METHOD: Method = Method::GET;
    const ID: &'static str = "getBroken";
    const SCOPES: Scopes = Scopes::READ;
    const TAG: &'static str = "Things";
    const SUMMARY: &'static str = "Break";
    const DESCRIPTION: &'static str = "Always fails.";
    type Path = Nothing;
    type Query = Nothing;
    type Body = Nothing;
    type Out = Done;

    async fn handle(_: Call<State>, _: Nothing, _: Nothing, _: Nothing) -> Result<KitAnswer<Done>, Error> {
        Err(AppError::Internal("secret".into()).into())
    }
}

pub(crate) struct Panicking;

impl Endpoint<State> for Panicking {
    const METHOD: Method = Method::GET;
    const ID: &'static str = "getPanic";
    const SCOPES: Scopes = Scopes::READ;
    const TAG: &'static str = "Things";
    const SUMMARY: &'static str = "Panic";
    const DESCRIPTION: &'static str = "Always panics.";
    type Path = Nothing;
    type Query = Nothing;
    type Body = Nothing;
    type Out = Done;

    async fn handle(_: Call<State>, _: Nothing, _: Nothing, _: Nothing) -> Result<KitAnswer<Done>, Error> {
        panic!("secret")
    }
}

pub(crate) fn settings() -> Settings {
    Settings::new(|| Uuid::from_u128(0x0000_0000_0000_7000_8000_0000_0000_0001))
}

/// The toy, mounted.
pub(crate) struct Toy(Router);

impl Toy {
    pub(crate) fn new(settings: Settings) -> Self {
        Self(define().unwrap().router(State { is_ready: true }, settings))
    }

    pub(crate) fn unready() -> Self {
        Self(define().unwrap().router(State { is_ready: false }, settings()))
    }

    pub(crate) async fn serve(&self, Request(request): Request) -> Answer {
        let response = self.0.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Answer { status: parts.status.as_u16(), headers: parts.headers, text }
    }
}

pub(crate) async fn serve(request: Request) -> Answer {
    serve_with(settings(), request).await
}

pub(crate) async fn serve_with(settings: Settings, request: Request) -> Answer {
    Toy::new(settings).serve(request).await
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }
}

/// A request with the right key, unless told otherwise.
pub(crate) struct Request(axum::http::Request<Body>);

impl Request {
    pub(crate) fn new(method: Method, path: &str) -> Self {
        let mut request = axum::http::Request::new(Body::empty());
        *request.method_mut() = method;
        *request.uri_mut() = path.parse().unwrap();
        Self(request).key(KEY)
    }

    pub(crate) fn get(path: &str) -> Self {
        Self::new(Method::GET, path)
    }

    pub(crate) fn post(path: &str) -> Self {
        Self::new(Method::POST, path)
    }

    pub(crate) fn patch(path: &str) -> Self {
        Self::new(Method::PATCH, path)
    }

    pub(crate) fn put(path: &str) -> Self {
        Self::new(Method::PUT, path)
    }

    pub(crate) fn delete(path: &str) -> Self {
        Self::new(Method::DELETE, path)
    }

    /// With another key, or with none if it is empty.
    pub(crate) fn key(mut self, key: &str) -> Self {
        let headers = self.0.headers_mut();
        headers.remove(AUTHORIZATION);
        if !key.is_empty() {
            headers.insert(AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {key}")).unwrap());
        }
        self
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.0.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
        self
    }

    pub(crate) fn body(mut self, body: &str) -> Self {
        *self.0.body_mut() = Body::from(body.to_owned());
        self
    }

    pub(crate) fn json(self, body: Value) -> Self {
        self.header("content-type", "application/json").body(&body.to_string())
    }
}
