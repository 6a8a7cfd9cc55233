//! The caller's team, and the limits in force.

use axum::http::Method;
use axum::http::header::HOST;
use schemars::JsonSchema;
use serde::Serialize;

use crate::endpoint::{Answer, Call, Endpoint, Nothing};
use crate::error::Error;
use crate::rowmill::Rowmill;
use crate::wire::team::{LimitsOut, TeamOut};

const TAG: &str = "Team";

pub(crate) struct GetTeam;

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TeamAnswer {
    team: TeamOut,
}

impl Endpoint<Rowmill> for GetTeam {
    const METHOD: Method = Method::GET;
    const ID: &'static str = "getTeam";
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Get the team";
    const DESCRIPTION: &'static str = "The team the key belongs to, with its webhook address.";
    type Path = Nothing;
    type Query = Nothing;
    type Body = Nothing;
    type Out = TeamAnswer;

    async fn handle(
        call: Call<Rowmill>,
        _: Nothing,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<TeamAnswer>, Error> {
        let team = call.app().own_team(call.caller()?).await?;
        Ok(Answer::new(TeamAnswer { team: TeamOut::new(team, &base_url(&call)) }))
    }
}

pub(crate) struct GetLimits;

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LimitsAnswer {
    limits: LimitsOut,
}

impl Endpoint<Rowmill> for GetLimits {
    const METHOD: Method = Method::GET;
    const ID: &'static str = "getLimits";
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Get the limits";
    const DESCRIPTION: &'static str = "Every limit in force on this server.";
    type Path = Nothing;
    type Query = Nothing;
    type Body = Nothing;
    type Out = LimitsAnswer;

    async fn handle(
        call: Call<Rowmill>,
        _: Nothing,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<LimitsAnswer>, Error> {
        call.caller()?;
        Ok(Answer::new(LimitsAnswer { limits: LimitsOut::new(&call.limits, &call.rates) }))
    }
}

/// The address the caller reached this server by.
fn base_url(call: &Call<Rowmill>) -> String {
    let header = |name: &str| call.headers.get(name).and_then(|value| value.to_str().ok());
    let scheme = header("x-forwarded-proto").filter(|scheme| *scheme == "https").map_or("http", |_| "https");
    let host = header("x-forwarded-host").or_else(|| header(HOST.as_str())).unwrap_or("localhost");
    format!("{scheme}://{host}")
}
