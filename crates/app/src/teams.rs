//! Teams and their keys.

use rowmill_model::limits::NAME_CHARS_MAX;
use rowmill_model::{KeyId, Offence, Restrictions, Slug, TeamId};
use rowmill_store::{ApiKey, StoreError, Team};

use crate::app::App;
use crate::auth::Secret;
use crate::caller::Caller;
use crate::error::{Error, Noun, Result};
use crate::ids::uuid;

/// A key just made, with the secret that is never seen again.
#[derive(Debug)]
pub struct NewKey {
    pub key: ApiKey,
    pub secret: Secret,
}

impl App {
    /// The team that is made on the very first start.
    pub const FIRST_SLUG: &str = "default";

    /// On the very first start: makes the team `default` and a key for it.
    pub async fn bootstrap(&self) -> Result<Option<NewKey>> {
        let team = self.first_team()?;
        let new_key = self.new_key(team.id, "first key")?;
        let made = self.store.bootstrap(team, new_key.key.clone()).await?;
        Ok(made.then_some(new_key))
    }

    pub(crate) fn first_team(&self) -> Result<Team> {
        let slug = Slug::parse(Self::FIRST_SLUG).ok_or(Error::NotFound(Noun::Team))?;
        self.new_team(slug, "Default")
    }

    /// Refuses a team that cannot be, whatever teams there are.
    pub fn check_team(slug: &str, name: Option<&str>) -> Result<()> {
        read_team(slug, name).map(|_| ())
    }

    pub async fn create_team(&self, slug: &str, name: Option<&str>) -> Result<Team> {
        let (parsed, name) = read_team(slug, name)?;
        let team = self.new_team(parsed, name)?;
        match self.store.create_team(team.clone()).await {
            Err(StoreError::SlugTaken) => Err(Error::invalid(vec![Offence::new(
                "slug",
                format!("\"{slug}\" is already used; choose another slug"),
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

    /// All teams, for those who run the installation.
    pub async fn teams_for(&self, caller: Caller) -> Result<Vec<Team>> {
        self.require_operator(caller.with_key()?.team).await?;
        self.teams().await
    }

    /// Makes a team and its first key, for those who run the installation.
    pub async fn create_team_for(
        &self,
        caller: Caller,
        slug: &str,
        name: Option<&str>,
    ) -> Result<(Team, NewKey)> {
        let teams = self.teams_for(caller).await?;
        let most = self.limits.teams_max;
        if teams.len() >= usize::try_from(most).unwrap_or(usize::MAX) {
            return Err(Error::limit(
                "",
                format!("an installation can have at most {most} teams (teamsMax)"),
            ));
        }
        let maker = self.maker(caller).await?;
        let team = self.create_team(slug, name).await?;
        let new_key = self.key_as_of(team.id, "first key", &maker)?;
        self.store.create_key(new_key.key.clone()).await?;
        Ok((team, new_key))
    }

    pub async fn rename_team(&self, caller: Caller, name: &str) -> Result<Team> {
        let name = named("name", name)?.to_owned();
        if !self.store.rename_team(caller.with_key()?.team, name).await? {
            return Err(Error::NotFound(Noun::Team));
        }
        self.own_team(caller).await
    }

    /// The keys of the caller's team, oldest first.
    pub async fn own_keys(&self, caller: Caller) -> Result<Vec<ApiKey>> {
        let team = caller.with_key()?.team;
        let mut keys = self.store.keys().await?;
        keys.retain(|key| key.team == team);
        Ok(keys)
    }

    /// Revokes a key of the caller's team, but not the one that asks: nobody locks themselves out.
    pub async fn revoke_own_key(&self, caller: Caller, id: &str) -> Result<()> {
        let principal = caller.with_key()?;
        let id = KeyId::parse(id).ok_or(Error::NotFound(Noun::Key))?;
        if id == principal.key {
            let words = "is the key of this request; use another key to revoke it";
            return Err(Error::invalid(vec![Offence::new("keyId", words)]));
        }
        let key = self.store.key(id).await?.filter(|key| key.team == principal.team);
        if key.is_none() || !self.store.revoke_key(id).await? {
            return Err(Error::NotFound(Noun::Key));
        }
        Ok(())
    }

    pub(crate) async fn team_by_slug(&self, slug: &str) -> Result<Team> {
        let slug = Slug::parse(slug).ok_or(Error::NotFound(Noun::Team))?;
        self.store.team_by_slug(&slug).await?.ok_or(Error::NotFound(Noun::Team))
    }

    fn new_team(&self, slug: Slug, name: &str) -> Result<Team> {
        let created_at_ms = self.clock.now_ms();
        Ok(Team { id: TeamId(uuid(created_at_ms)?), slug, name: name.to_owned(), created_at_ms })
    }

    /// A key without restrictions, not stored yet.
    pub(crate) fn new_key(&self, team: TeamId, name: &str) -> Result<NewKey> {
        let created_at_ms = self.clock.now_ms();
        let id = KeyId::from_uuid(uuid(created_at_ms)?);
        let secret = Secret::new(id)?;
        let key = ApiKey {
            id,
            team,
            name: name.to_owned(),
            hash: secret.hash(),
            created_at_ms,
            last_used: None,
            expires_at_ms: None,
            restrictions: Restrictions::default(),
        };
        Ok(NewKey { key, secret })
    }
}

/// The slug and the name of a team to be made; the slug is its name where it has none.
fn read_team<'a>(slug: &'a str, name: Option<&'a str>) -> Result<(Slug, &'a str)> {
    let parsed = Slug::parse(slug).ok_or_else(|| {
        Error::invalid(vec![Offence::new(
            "slug",
            "must be 1 to 63 lower-case letters, digits and hyphens, not starting with a hyphen",
        )])
    })?;
    let name = name.map(|name| named("name", name)).transpose()?;
    Ok((parsed, name.unwrap_or(slug)))
}

/// A name for people, trimmed.
pub(crate) fn named<'a>(path: &str, name: &'a str) -> Result<&'a str> {
    let name = name.trim();
    if (1..=NAME_CHARS_MAX).contains(&name.chars().count()) {
        return Ok(name);
    }
    let words = format!("must have 1 to {NAME_CHARS_MAX} characters and must not be blank");
    Err(Error::invalid(vec![Offence::new(path, words)]))
}
