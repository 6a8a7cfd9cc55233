//! Team secrets: texts that HTTP requests of columns may hold, as `@{secret.NAME}`.

use rowmill_model::limits::{SECRET_CHARS_MAX, SECRET_NAME_CHARS_MAX};
use rowmill_model::reference::is_secret_name;
use rowmill_model::{Offence, Secret};
use rowmill_store::SealedKind;

use crate::app::App;
use crate::caller::Caller;
use crate::credentials::Unopened;
use crate::error::{Error, Noun, Result};

/// A secret as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretState {
    pub name: String,
    /// Why it is of no use.
    pub fault: Option<Unopened>,
}

impl App {
    /// The caller's team's secrets, by name.
    pub async fn secrets(&self, caller: Caller) -> Result<Vec<SecretState>> {
        let credentials = self.credentials(caller.with_key()?.team).await?;
        let shown = |(name, fault): (&str, _)| SecretState { name: name.to_owned(), fault };
        Ok(credentials.secret_names().map(shown).collect())
    }

    /// Keeps a secret, in place of the one of that name.
    pub async fn set_secret(&self, caller: Caller, name: &str, value: &Secret) -> Result<()> {
        let team = caller.with_key()?.team;
        let mut offences = Vec::new();
        if !is_secret_name(name) {
            let message =
                format!("must be 1 to {SECRET_NAME_CHARS_MAX} letters, digits, underscores and hyphens");
            offences.push(Offence::new("name", message));
        }
        check_value(value, &mut offences);
        if !offences.is_empty() {
            return Err(Error::invalid(offences));
        }
        self.seal_secret(team, name, value).await
    }

    pub async fn delete_secret(&self, caller: Caller, name: &str) -> Result<()> {
        let team = caller.with_key()?.team;
        // No other name is ever kept, and not every store can even look for one.
        if is_secret_name(name) && self.unseal(team, SealedKind::Secret, name).await? {
            Ok(())
        } else {
            Err(Error::NotFound(Noun::Secret))
        }
    }
}

fn check_value(value: &Secret, offences: &mut Vec<Offence>) {
    let text = value.expose();
    if text.is_empty() || text.chars().count() > SECRET_CHARS_MAX {
        offences.push(Offence::new("value", format!("must have 1 to {SECRET_CHARS_MAX} characters")));
    }
    if text.contains('\0') {
        offences.push(Offence::new("value", "must not contain the character U+0000"));
    }
}
