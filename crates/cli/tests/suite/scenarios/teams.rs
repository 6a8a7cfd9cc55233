//! Keys and teams over the API: made, listed, revoked, renamed, and by whom.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::runner::scenarios;
use crate::harness::{Api, Scenario, Server};

pub(crate) const OWN: &[Scenario] = &scenarios!("teams", Own:
    keys_are_made_listed_and_revoked,
    a_team_is_renamed,
    the_oldest_team_makes_teams,
);

fn keys(api: &Api) -> Vec<Value> {
    api.get("/v4/keys").ok()["keys"].as_array().unwrap().clone()
}

fn keys_are_made_listed_and_revoked() {
    let server = Server::start(&[]);
    let api = server.api();
    let stranger = server.team("stranger");
    let own = keys(&api).iter().find(|key| key["current"] == true).unwrap()["id"].clone();
    let made = api.post("/v4/keys", json!({ "name": "  Script  " })).created();
    assert_eq!((&made["key"]["name"], &made["key"]["current"]), (&json!("Script"), &json!(false)));
    let secret = made["secret"].as_str().unwrap();
    let id = made["key"]["id"].as_str().unwrap();
    let script = server.api_with(secret);
    script.get("/v4/projects").ok();
    let listed = keys(&script);
    assert_eq!(listed.iter().find(|key| key["current"] == true).unwrap()["id"], id);
    assert!(!json!(listed).to_string().contains(secret.rsplit('_').next().unwrap()));
    assert_eq!(listed.len(), keys(&api).len());
    let listed_by_command: Value = serde_json::from_slice(&server.command(&["key", "list"]).stdout).unwrap();
    assert!(listed_by_command.as_array().unwrap().iter().any(|key| key["id"] == id));
    assert!(keys(&stranger).iter().all(|key| key["id"] != id), "another team's keys are its own");

    script.delete(format!("/v4/keys/{id}")).offends(&["keyId"]);
    stranger.delete(format!("/v4/keys/{id}")).refused(404, "key_not_found");
    api.delete("/v4/keys/nonsense").refused(404, "key_not_found");
    assert_eq!(api.delete(format!("/v4/keys/{id}")).ok()["deletedCount"], 1);
    api.delete(format!("/v4/keys/{id}")).refused(404, "key_not_found");
    std::thread::sleep(Duration::from_secs(1));
    script.get("/v4/projects").refused(403, "invalid_api_key");
    api.delete(format!("/v4/keys/{}", own.as_str().unwrap())).offends(&["keyId"]);
    for wrong in [json!({}), json!({ "name": "" }), json!({ "name": "x".repeat(256) }), json!({ "name": 1 })]
    {
        api.post("/v4/keys", wrong).offends(&["name"]);
    }
    api.post("/v4/keys", json!({ "name": "   " })).offends(&["name"]);
}

fn a_team_is_renamed() {
    let server = Server::start(&[]);
    let api = server.api();
    let before = api.get("/v4/team").ok()["team"].clone();
    let renamed = api.patch("/v4/team", json!({ "name": " Acme & Töchter " })).ok()["team"].clone();
    assert_eq!(renamed["name"], "Acme & Töchter");
    assert_eq!((&renamed["slug"], &renamed["webhookUrl"]), (&before["slug"], &before["webhookUrl"]));
    assert_eq!(api.get("/v4/team").ok()["team"], renamed);
    api.patch("/v4/team", json!({ "name": "" })).offends(&["name"]);
    api.patch("/v4/team", json!({ "name": "x", "slug": "y" })).offends(&["slug"]);
}

fn the_oldest_team_makes_teams() {
    let server = Server::start(&[]);
    let api = server.api();
    let made = api.post("/v4/teams", json!({ "slug": "acme", "name": "Acme" })).created();
    assert_eq!((&made["team"]["slug"], &made["team"]["name"]), (&json!("acme"), &json!("Acme")));
    let acme = server.api_with(made["secret"].as_str().unwrap()).of_team("acme");
    assert_eq!(acme.get("/v4/team").ok()["team"]["id"], made["team"]["id"]);
    assert_eq!(acme.get("/v4/projects").ok()["projects"], json!([]));
    let teams = api.get("/v4/teams").ok()["teams"].clone();
    assert_eq!(
        teams.as_array().unwrap().iter().map(|team| &team["slug"]).collect::<Vec<_>>(),
        ["default", "acme"]
    );
    acme.get("/v4/teams").refused(403, "not_operator");
    acme.post("/v4/teams", json!({ "slug": "beta" })).refused(403, "not_operator");
    api.post("/v4/teams", json!({ "slug": "acme" })).offends(&["slug"]);
    api.post("/v4/teams", json!({ "slug": "No Good" })).offends(&["slug"]);
    assert_eq!(api.post("/v4/teams", json!({ "slug": "beta" })).created()["team"]["name"], "beta");
}
