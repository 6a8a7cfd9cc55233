//! Teams and their keys.

use rowmill_model::{KeyId, Offence, Slug, TeamId};
use rowmill_store::{ApiKey, StoreError, Team};

use crate::App;
use crate::auth::{Caller, Secret};
use crate::chance::uuid;
use crate::error::{Error, Noun, Result};

/// A key just made, with the secret that is never seen again.
#[derive(Debug)]
pub struct NewKey {
    pub key: ApiKey,
    pub secret: Secret,
}

impl App {
    const FIRST_SLUG: &str = "default";

    /// On the very first start: makes the team `default` and a key for it.
    pub async fn bootstrap(&self) -> Result<Option<NewKey>> {
        let slug = Slug::parse(Self::FIRST_SLUG).ok_or(Error::NotFound(Noun::Team))?;
        let team = self.new_team(slug, "Default")?;
        let new_key = self.new_key(team.id, "first key")?;
        let made = self.store.bootstrap(team, new_key.key.clone()).await?;
        Ok(made.then_some(new_key))
    }

    pub async fn create_team(&self, slug: &str, name: Option<&str>) -> Result<Team> {
        let parsed = Slug::parse(slug).ok_or_else(|| {
            Error::invalid(vec![Offence::new(
                "slug",
                "must be 1 to 63 lower-case letters, digits and hyphens, not starting with a hyphen",
            )])
        })?;
        let team = self.new_team(parsed, name.unwrap_or(slug))?;
        match self.store.create_team(team.clone()).await {
            Err(StoreError::SlugTaken) => Err(Error::invalid(vec![Offence::new(
                "slug",
                format!("\"{slug}\" is taken: choose another slug"),
            )])),
            other => Ok(other.map(|()| team)?),
        }
    }

    pub async fn teams(&self) -> Result<Vec<Team>> {
        Ok(self.store.teams().await?)
    }

    /// The team of whoever asks.
    pub async fn own_team(&self, caller: Caller) -> Result<Team> {
        self.store.team(caller.with_key()?.team).await?.ok_or(Error::NotFound(Noun::Team))
    }

    pub async fn create_key(&self, slug: &str, name: Option<&str>) -> Result<NewKey> {
        let team = self.team_by_slug(slug).await?;
        let new_key = self.new_key(team.id, name.unwrap_or("key"))?;
        self.store.create_key(new_key.key.clone()).await?;
        Ok(new_key)
    }

    /// The keys of one team, or of all.
    pub async fn keys(&self, slug: Option<&str>) -> Result<Vec<ApiKey>> {
        let mut keys = self.store.keys().await?;
        if let Some(slug) = slug {
            let team = self.team_by_slug(slug).await?;
            keys.retain(|key| key.team == team.id);
        }
        Ok(keys)
    }

    /// Says whether there was such a key.
    pub async fn revoke_key(&self, id: &str) -> Result<bool> {
        match KeyId::parse(id) {
            Some(id) => Ok(self.store.revoke_key(id).await?),
            None => Ok(false),
        }
    }

    pub(crate) async fn team_by_slug(&self, slug: &str) -> Result<Team> {
        let slug = Slug::parse(slug).ok_or(Error::NotFound(Noun::Team))?;
        self.store.team_by_slug(&slug).await?.ok_or(Error::NotFound(Noun::Team))
    }

    fn new_team(&self, slug: Slug, name: &str) -> Result<Team> {
        let created_at_ms = self.clock.now_ms();
        Ok(Team { id: TeamId(uuid(created_at_ms)?), slug, name: name.to_owned(), created_at_ms })
    }

    fn new_key(&self, team: TeamId, name: &str) -> Result<NewKey> {
        let created_at_ms = self.clock.now_ms();
        let id = KeyId::from_uuid(uuid(created_at_ms)?);
        let secret = Secret::new(id)?;
        let key = ApiKey {
            id,
            team,
            name: name.to_owned(),
            hash: secret.hash(),
            created_at_ms,
            last_used_at_ms: None,
        };
        Ok(NewKey { key, secret })
    }
}
