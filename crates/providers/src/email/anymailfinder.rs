//! Anymail Finder: one call that may take three minutes. The key goes bare, without `Bearer`.

use std::time::Duration;

use serde_json::{Value, json};

use super::finding::{Finding, hit_or_miss};
use super::person::Person;
use crate::failure::Failure;
use crate::session::{Session, address, text};

const WHO: &str = "Anymail Finder";
const DEADLINE: Duration = Duration::from_secs(200);

pub(super) async fn find(session: &mut Session<'_>, person: &Person) -> Result<Finding, Failure> {
    let mut search = person.name_map("full_name");
    search.insert("domain".to_owned(), json!(person.domain()));
    let request = session
        .post("v5.1/find-email/person")
        .secret_header("authorization", "", session.key)?
        .json(&Value::Object(search));
    let response = session.send(request.deadline(DEADLINE)).await?;
    if !response.is_success() {
        return Err(response.finder_failure(WHO));
    }
    let body = response.json(WHO)?;
    // An error may come as a success: `{error: …}` and no address.
    if !matches!(body.get("error"), None | Some(Value::Null | Value::Bool(false))) {
        return Err(response.told_failure(WHO, None, text(&body, "/error")));
    }
    session.note_credits(body.get("credits_charged"));
    let status = text(&body, "/email_status");
    // `blacklisted`: the person asked not to be found.
    let email = address(body.get("email")).filter(|_| !matches!(status, "not_found" | "blacklisted"));
    Ok(hit_or_miss(email, status == "valid"))
}
