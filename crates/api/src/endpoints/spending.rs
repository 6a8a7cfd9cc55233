//! What a team may spend: prices and caps.

use axum::http::Method;
use rowmill_model::Scopes;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::endpoint::{Call, Endpoint, Examples};
use crate::error::Error;
use crate::payload::{Json, Nothing};
use crate::state::ApiState;
use crate::wire::spending::{SpendingBody, SpendingOut};

const TAG: &str = "Spending";

pub(crate) struct GetSpending;

impl Endpoint<ApiState> for GetSpending {
    const METHOD: Method = Method::GET;
    const ID: &'static str = "getSpending";
    const SCOPES: Scopes = Scopes::READ;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Get prices and caps";
    const DESCRIPTION: &'static str =
        "Returns the team's own prices, its spending caps and how much of each is spent.";
    type Path = Nothing;
    type Query = Nothing;
    type Body = Nothing;
    type Out = SpendingOut;

    fn examples() -> Examples {
        Examples { body: None, answer: Some(example()) }
    }

    async fn handle(
        call: Call<ApiState>,
        _: Nothing,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<SpendingOut>, Error> {
        Ok(Answer::new(call.app().spending(call.caller()?).await?.into()))
    }
}

pub(crate) struct SetSpending;

impl Endpoint<ApiState> for SetSpending {
    const METHOD: Method = Method::PUT;
    const ID: &'static str = "setSpending";
    const SCOPES: Scopes = Scopes::ADMIN;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Set prices and caps";
    const DESCRIPTION: &'static str = "Sets prices of models and providers, and spending caps. A cap counts what providers report, else what the \
     prices say; calls whose price is unknown are not counted. When a cap is reached, the cells it concerns stay queued \
     (`spend_limit`) and go on by themselves when it is raised or its period ends. A cap can be exceeded only by calls \
     that are already in flight.";
    type Path = Nothing;
    type Query = Nothing;
    type Body = Json<SpendingBody>;
    type Out = SpendingOut;

    fn examples() -> Examples {
        Examples {
            body: Some(json!({
                "providers": { "hunter": { "usdPerCall": 0.05 } },
                "caps": [{ "scope": "team", "period": "month", "usd": 200 }],
            })),
            answer: Some(example()),
        }
    }

    async fn handle(
        call: Call<ApiState>,
        _: Nothing,
        _: Nothing,
        Json(body): Json<SpendingBody>,
    ) -> Result<Answer<SpendingOut>, Error> {
        let changes = body.into_changes().map_err(Error::offences)?;
        Ok(Answer::new(call.app().change_spending(call.caller()?, changes).await?.into()))
    }
}

fn example() -> Value {
    json!({
        "priceList": { "date": "2026-11-16", "source": "LiteLLM", "models": 276 },
        "models": {},
        "providers": { "hunter": { "usdPerCall": 0.05 } },
        "caps": [{
            "scope": "team", "period": "month", "usd": 200.0, "spent": 17.25, "reserved": 0.5, "reached": false,
            "resetsAt": "2026-12-01T00:00:00.000Z",
        }],
    })
}
