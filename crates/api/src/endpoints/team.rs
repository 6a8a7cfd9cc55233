//! The caller's team, and the limits in force.

use axum::http::header::{HeaderValue, VARY};
use axum::http::{Method, StatusCode};
use rowmill_app::Team;
use rowmill_model::Scopes;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Answer;
use crate::endpoint::{Call, Endpoint, Repeats};
use crate::error::Error;
use crate::payload::{Json, Nothing};
use crate::public_url::PublicUrl;
use crate::state::ApiState;
use crate::wire::team::{LimitsOut, TeamCreate, TeamItem, TeamOut, TeamPatch};

const TAG: &str = "Team";

pub(crate) struct GetTeam;

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TeamAnswer {
    team: TeamOut,
}

impl Endpoint<ApiState> for GetTeam {
    const METHOD: Method = Method::GET;
    const ID: &'static str = "getTeam";
    const SCOPES: Scopes = Scopes::READ;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Get the team";
    const DESCRIPTION: &'static str = "Returns the key's team and its webhook URL.";
    type Path = Nothing;
    type Query = Nothing;
    type Body = Nothing;
    type Out = TeamAnswer;

    async fn handle(
        call: Call<ApiState>,
        _: Nothing,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<TeamAnswer>, Error> {
        let team = call.app().own_team(call.caller()?).await?;
        Ok(answer(&call, team))
    }
}

/// A team, with its webhook's address.
fn answer(call: &Call<ApiState>, team: Team) -> Answer<TeamAnswer> {
    let base_url = call.reached().base_url();
    Answer::new(TeamAnswer { team: TeamOut::new(team, &base_url) })
        .with_header(VARY, HeaderValue::from_static(PublicUrl::VARY))
}

pub(crate) struct PatchTeam;

impl Endpoint<ApiState> for PatchTeam {
    const METHOD: Method = Method::PATCH;
    const ID: &'static str = "updateTeam";
    const SCOPES: Scopes = Scopes::ADMIN;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Rename the team";
    const DESCRIPTION: &'static str = "Changes the team's display name. The slug does not change.";
    type Path = Nothing;
    type Query = Nothing;
    type Body = Json<TeamPatch>;
    type Out = TeamAnswer;

    async fn handle(
        call: Call<ApiState>,
        _: Nothing,
        _: Nothing,
        Json(body): Json<TeamPatch>,
    ) -> Result<Answer<TeamAnswer>, Error> {
        let team = call.app().rename_team(call.caller()?, &body.name).await?;
        Ok(answer(&call, team))
    }
}

pub(crate) struct ListTeams;

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TeamList")]
pub(crate) struct Teams {
    /// Oldest first.
    teams: Vec<TeamItem>,
}

impl Endpoint<ApiState> for ListTeams {
    const METHOD: Method = Method::GET;
    const ID: &'static str = "listTeams";
    const SCOPES: Scopes = Scopes::ADMIN;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "List all teams";
    const DESCRIPTION: &'static str =
        "Lists the teams of this installation. Only API keys of the first team are allowed.";
    type Path = Nothing;
    type Query = Nothing;
    type Body = Nothing;
    type Out = Teams;

    async fn handle(
        call: Call<ApiState>,
        _: Nothing,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<Teams>, Error> {
        let teams = call.app().teams_for(call.caller()?).await?;
        Ok(Answer::new(Teams { teams: teams.into_iter().map(TeamItem::from).collect() }))
    }
}

pub(crate) struct CreateTeam;

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TeamCreated {
    team: TeamItem,
    /// The new team's first API key. It is shown only once.
    #[schemars(length(max = 128))]
    secret: String,
}

impl Endpoint<ApiState> for CreateTeam {
    const METHOD: Method = Method::POST;
    const ID: &'static str = "createTeam";
    const SCOPES: Scopes = Scopes::ADMIN;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Create a team";
    const DESCRIPTION: &'static str = "Creates a team with one API key, which is shown only once. Only API keys of the first team are allowed.";
    const STATUS: StatusCode = StatusCode::CREATED;
    const REPEATS: Repeats = Repeats::Never;
    type Path = Nothing;
    type Query = Nothing;
    type Body = Json<TeamCreate>;
    type Out = TeamCreated;

    async fn handle(
        call: Call<ApiState>,
        _: Nothing,
        _: Nothing,
        Json(TeamCreate { slug, name }): Json<TeamCreate>,
    ) -> Result<Answer<TeamCreated>, Error> {
        let (team, new_key) = call.app().create_team_for(call.caller()?, &slug, name.as_deref()).await?;
        let secret = new_key.secret.reveal().to_owned();
        Ok(Answer::new(TeamCreated { team: team.into(), secret }))
    }
}

pub(crate) struct GetLimits;

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LimitsAnswer {
    limits: LimitsOut,
}

impl Endpoint<ApiState> for GetLimits {
    const METHOD: Method = Method::GET;
    const ID: &'static str = "getLimits";
    const SCOPES: Scopes = Scopes::READ;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Get limits";
    const DESCRIPTION: &'static str = "Returns all current limits of this server.";
    type Path = Nothing;
    type Query = Nothing;
    type Body = Nothing;
    type Out = LimitsAnswer;

    async fn handle(
        call: Call<ApiState>,
        _: Nothing,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<LimitsAnswer>, Error> {
        call.caller()?;
        Ok(Answer::new(LimitsAnswer {
            limits: LimitsOut::new(
                &call.limits,
                &call.rates,
                call.app().quotas(),
                call.app().keeps_deleted_for(),
                call.app().keeps_received_for(),
            ),
        }))
    }
}
