//! API keys: made and rotated, never with more than their maker has.

use std::sync::Arc;
use std::time::Duration;

use rowmill_model::address_range::AddressRange;
use rowmill_model::{KeyId, Offence, ProjectId, Restrictions, Scopes, TeamId};
use rowmill_store::{ApiKey, ProjectPage, Team};

use crate::app::App;
use crate::auth::moment;
use crate::caller::Caller;
use crate::error::{Error, Noun, Result};
use crate::teams::{NewKey, named};

/// How many projects or ranges of addresses a key names at most.
const KEY_LIST_MAX: usize = 100;
/// How much of what was sent an answer repeats.
const SHOWN_CHARS: usize = 64;
/// For how long a rotated key goes on working, unless something else is asked for.
const ROTATION: Duration = Duration::from_hours(24);
/// Expired keys are listed for this long, so that their owner sees why a program stopped working.
const EXPIRED_FOR: Duration = Duration::from_hours(30 * 24);

/// A key to be made. What is not said is as its maker has it.
#[derive(Debug, Clone, Default)]
pub struct KeyRequest {
    pub name: String,
    pub scopes: Option<Scopes>,
    pub project_ids: Option<Vec<String>>,
    /// RFC 3339.
    pub expires_at: Option<String>,
    pub allow_from: Option<Vec<String>>,
}

/// How a key is rotated.
#[derive(Debug, Clone, Default)]
pub struct KeyRotation {
    /// When the old key stops working; in a day if nothing is said.
    pub old_expires_at: Option<String>,
    /// When the new key stops working; when the old one would have, if nothing is said.
    pub expires_at: Option<String>,
}

impl KeyRequest {
    /// Refuses what is wrong with it whoever makes the key, and in whatever team. Expiry must be later than `now_ms`.
    pub fn check(&self, now_ms: i64) -> Result<()> {
        named("name", &self.name)?;
        self.read(now_ms).map(|_| ())
    }

    /// What is asked for, without its projects; all that is wrong with it is told at once.
    fn read(&self, now_ms: i64) -> Result<Wanted> {
        let Self { name: _, scopes, project_ids, expires_at, allow_from } = self;
        let mut offences = Vec::new();
        if scopes.is_some_and(Scopes::is_empty) {
            offences.push(Offence::new("scopes", "must name at least one scope; leave it out for all"));
        }
        if project_ids.is_some() && scopes.is_some_and(|scopes| scopes.lacks(Scopes::ADMIN).is_none()) {
            let words =
                "cannot include admin in a key that is limited to projects: admin concerns the whole team";
            offences.push(Offence::new("scopes", words));
        }
        check_list("projectIds", project_ids.as_deref(), &mut offences);
        check_list("allowFrom", allow_from.as_deref(), &mut offences);
        let allow_from = read_ranges(allow_from.as_deref().unwrap_or_default(), &mut offences);
        let expires_at_ms = read_expiry(expires_at.as_deref(), now_ms, &mut offences);
        if !offences.is_empty() {
            return Err(Error::invalid(offences));
        }
        Ok(Wanted { scopes: *scopes, projects: None, expires_at_ms, allow_from })
    }
}

/// What is asked for, read and checked.
struct Wanted {
    scopes: Option<Scopes>,
    projects: Option<Vec<ProjectId>>,
    expires_at_ms: Option<i64>,
    allow_from: Vec<AddressRange>,
}

impl App {
    /// Makes a key for the caller's team.
    pub async fn create_own_key(&self, caller: Caller, request: KeyRequest) -> Result<NewKey> {
        let maker = self.maker(caller).await?;
        self.check_key_room(maker.team).await?;
        let name = named("name", &request.name)?.to_owned();
        let wanted = self.read_request(maker.team, &request).await?;
        let new_key = self.restricted_key(maker.team, &name, wanted, Some(&maker))?;
        self.store.create_key(new_key.key.clone()).await?;
        Ok(new_key)
    }

    /// Makes a key for a team, for whoever runs the installation. Where there is no team at all, the first one is made
    /// with it, as on the first start.
    pub async fn create_key(&self, slug: &str, request: KeyRequest) -> Result<NewKey> {
        if slug == Self::FIRST_SLUG && self.store.teams().await?.is_empty() {
            let team = self.first_team()?;
            let new_key = self.key_as_asked(&team, &request).await?;
            if self.store.bootstrap(team, new_key.key.clone()).await? {
                return Ok(new_key);
            }
            // Somebody else made the team just now.
        }
        let team = self.team_by_slug(slug).await?;
        let new_key = self.key_as_asked(&team, &request).await?;
        self.store.create_key(new_key.key.clone()).await?;
        Ok(new_key)
    }

    /// A key for a team that may not be stored yet.
    async fn key_as_asked(&self, team: &Team, request: &KeyRequest) -> Result<NewKey> {
        let name = named("name", &request.name)?.to_owned();
        let wanted = self.read_request(team.id, request).await?;
        self.restricted_key(team.id, &name, wanted, None)
    }

    /// Makes a key that takes the place of another of the caller's team, with the same restrictions.
    pub async fn rotate_own_key(&self, caller: Caller, id: &str, rotation: KeyRotation) -> Result<NewKey> {
        let maker = self.maker(caller).await?;
        self.check_key_room(maker.team).await?;
        let old = self.key_to_rotate(id).await?.filter(|key| key.team == maker.team);
        self.rotate(old.ok_or(Error::NotFound(Noun::Key))?, rotation, Some(&maker)).await
    }

    /// The same for whoever runs the installation.
    pub async fn rotate_key(&self, id: &str, rotation: KeyRotation) -> Result<NewKey> {
        let old = self.key_to_rotate(id).await?.ok_or(Error::NotFound(Noun::Key))?;
        self.rotate(old, rotation, None).await
    }

    /// The key of whoever makes another, as it is stored.
    pub(crate) async fn maker(&self, caller: Caller) -> Result<Arc<ApiKey>> {
        let principal = caller.for_whole_team()?;
        self.key_record(principal.key).await?.ok_or(Error::InvalidKey)
    }

    async fn key_to_rotate(&self, id: &str) -> Result<Option<ApiKey>> {
        match KeyId::parse(id) {
            Some(id) => Ok(self.store.key(id).await?),
            None => Ok(None),
        }
    }

    async fn rotate(&self, old: ApiKey, rotation: KeyRotation, maker: Option<&ApiKey>) -> Result<NewKey> {
        let KeyRotation { old_expires_at, expires_at } = rotation;
        let now_ms = self.clock.now_ms();
        let mut offences = Vec::new();
        let old_expires_at_ms = read_moment("oldExpiresAt", old_expires_at.as_deref(), &mut offences);
        let mut expires_at_ms = read_expiry(expires_at.as_deref(), now_ms, &mut offences);
        if expires_at.is_none() {
            expires_at_ms = old.expires_at_ms;
            if expires_at_ms.is_some_and(|at_ms| at_ms <= now_ms) {
                let words = "is required, because the key has expired: it says when the new key does";
                offences.push(Offence::new("expiresAt", words));
            }
        }
        if !offences.is_empty() {
            return Err(Error::invalid(offences));
        }
        let Restrictions { scopes, projects, allow_from } = old.restrictions;
        let wanted = Wanted { scopes: Some(scopes), projects, expires_at_ms, allow_from };
        let new_key = self.restricted_key(old.team, &old.name, wanted, maker)?;
        let in_a_day = now_ms.saturating_add(millis(ROTATION));
        let old_expires_at_ms = old_expires_at_ms.unwrap_or(in_a_day);
        if self.store.rotate_key(old.id, old_expires_at_ms, new_key.key.clone()).await? {
            // It may have ended just now.
            self.keys.forget(&old.hash);
            Ok(new_key)
        } else {
            Err(Error::NotFound(Noun::Key))
        }
    }

    /// That a team has room for another key. Those that expired long ago make room.
    async fn check_key_room(&self, team: TeamId) -> Result<()> {
        let mut keys = self.store.keys().await?;
        keys.retain(|key| key.team == team);
        let until_ms = self.clock.now_ms().saturating_sub(millis(EXPIRED_FOR));
        let is_old = |key: &ApiKey| key.expires_at_ms.is_some_and(|at_ms| at_ms < until_ms);
        for key in keys.extract_if(.., |key| is_old(key)) {
            self.store.revoke_key(key.id).await?;
        }
        let most = self.limits.keys_max;
        if keys.len() >= usize::try_from(most).unwrap_or(usize::MAX) {
            return Err(Error::limit("", format!("a team can have at most {most} API keys (keysMax)")));
        }
        Ok(())
    }

    async fn read_request(&self, team: TeamId, request: &KeyRequest) -> Result<Wanted> {
        let wanted = request.read(self.clock.now_ms())?;
        let projects = match &request.project_ids {
            Some(ids) => Some(self.known_projects(team, ids).await?),
            None => None,
        };
        Ok(Wanted { projects, ..wanted })
    }

    /// These projects of a team, in order and each once.
    async fn known_projects(&self, team: TeamId, ids: &[String]) -> Result<Vec<ProjectId>> {
        let own = self.store.projects(team, None, ProjectPage::ALL).await?;
        let (mut projects, mut offences) = (Vec::new(), Vec::new());
        for (index, id) in ids.iter().enumerate() {
            if let Some(id) = ProjectId::parse(id).filter(|id| own.iter().any(|project| project.id == *id)) {
                projects.push(id);
            } else {
                let shown: String = id.chars().take(SHOWN_CHARS).collect();
                let message = format!("{shown:?} is not a project of this team");
                offences.push(Offence::new(format!("projectIds[{index}]"), message));
            }
        }
        if !offences.is_empty() {
            return Err(Error::invalid(offences));
        }
        projects.sort_unstable();
        projects.dedup();
        Ok(projects)
    }

    /// A key for another team, with what its maker has and no more.
    pub(crate) fn key_as_of(&self, team: TeamId, name: &str, maker: &ApiKey) -> Result<NewKey> {
        let wanted = Wanted { scopes: None, projects: None, expires_at_ms: None, allow_from: Vec::new() };
        self.restricted_key(team, name, wanted, Some(maker))
    }

    fn restricted_key(
        &self,
        team: TeamId,
        name: &str,
        wanted: Wanted,
        maker: Option<&ApiKey>,
    ) -> Result<NewKey> {
        let mut new_key = self.new_key(team, name)?;
        let (restrictions, expires_at_ms) = granted(wanted, maker)?;
        new_key.key.restrictions = restrictions;
        new_key.key.expires_at_ms = expires_at_ms;
        Ok(new_key)
    }
}

/// What is wanted, as far as the maker has it. Where nothing is said, it is what the maker has.
fn granted(wanted: Wanted, maker: Option<&ApiKey>) -> Result<(Restrictions, Option<i64>)> {
    let Wanted { scopes, projects, expires_at_ms, allow_from } = wanted;
    let unlimited = Restrictions::default();
    let most = maker.map_or(&unlimited, |maker| &maker.restrictions);
    if let Some(missing) = most.scopes.lacks(scopes.unwrap_or(Scopes::NONE)) {
        return Err(Error::MissingScope(missing));
    }
    // What concerns the whole team is nothing for a key that is limited to projects.
    let team_wide = if projects.is_some() { Scopes::ADMIN } else { Scopes::NONE };
    let scopes = scopes.unwrap_or(most.scopes.without(team_wide));
    let mut offences = Vec::new();
    let latest_ms = maker.and_then(|maker| maker.expires_at_ms);
    if let (Some(asked), Some(latest)) = (expires_at_ms, latest_ms)
        && asked > latest
    {
        let words =
            format!("must not be later than the expiry of the key that creates it ({})", moment(latest));
        offences.push(Offence::new("expiresAt", words));
    }
    for (index, range) in allow_from.iter().enumerate() {
        if !most.allow_from.is_empty() && !most.allow_from.iter().any(|allowed| allowed.covers(range)) {
            let words = "must be within the allowFrom of the key that creates it";
            offences.push(Offence::new(format!("allowFrom[{index}]"), words));
        }
    }
    if !offences.is_empty() {
        return Err(Error::invalid(offences));
    }
    let allow_from = if allow_from.is_empty() { most.allow_from.clone() } else { allow_from };
    Ok((Restrictions { scopes, projects, allow_from }, expires_at_ms.or(latest_ms)))
}

fn check_list(path: &str, list: Option<&[String]>, offences: &mut Vec<Offence>) {
    let Some(list) = list else { return };
    if list.is_empty() {
        offences.push(Offence::new(path, "must not be empty; leave it out for all"));
    } else if list.len() > KEY_LIST_MAX {
        offences.push(Offence::new(path, format!("has {} entries; the limit is {KEY_LIST_MAX}", list.len())));
    }
}

fn read_ranges(texts: &[String], offences: &mut Vec<Offence>) -> Vec<AddressRange> {
    let mut ranges = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        match AddressRange::parse(text.trim()) {
            Some(range) if range.is_beyond_mapped() => offences.push(Offence::new(
                format!("allowFrom[{index}]"),
                "goes beyond the IPv4 addresses; write a range of them such as 10.0.0.0/8",
            )),
            Some(range) => ranges.push(range),
            None => offences.push(Offence::new(
                format!("allowFrom[{index}]"),
                "must be an address such as 192.0.2.7 or a range such as 10.0.0.0/8",
            )),
        }
    }
    ranges
}

fn read_expiry(text: Option<&str>, now_ms: i64, offences: &mut Vec<Offence>) -> Option<i64> {
    let at_ms = read_moment("expiresAt", text, offences)?;
    if at_ms <= now_ms {
        offences.push(Offence::new("expiresAt", "must be in the future"));
    }
    Some(at_ms)
}

fn read_moment(path: &str, text: Option<&str>, offences: &mut Vec<Offence>) -> Option<i64> {
    let text = text?;
    let parsed = text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond);
    if parsed.is_none() {
        offences.push(Offence::new(path, "must be a date and time such as 2027-01-31T12:00:00Z"));
    }
    parsed
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use rowmill_model::Scope;
    use uuid::Uuid;

    use super::*;

    fn maker(scopes: Scopes, expires_at_ms: Option<i64>, allow_from: &[&str]) -> ApiKey {
        let allow_from = allow_from.iter().map(|text| AddressRange::parse(text).unwrap()).collect();
        ApiKey {
            id: KeyId::from_uuid(Uuid::nil()),
            team: TeamId(Uuid::nil()),
            name: String::new(),
            hash: [0; 32],
            created_at_ms: 0,
            last_used: None,
            expires_at_ms,
            restrictions: Restrictions { scopes, projects: None, allow_from },
        }
    }

    fn wanted(scopes: Option<Scopes>, expires_at_ms: Option<i64>, allow_from: &[&str]) -> Wanted {
        let allow_from = allow_from.iter().map(|text| AddressRange::parse(text).unwrap()).collect();
        Wanted { scopes, projects: None, expires_at_ms, allow_from }
    }

    #[test]
    fn a_key_has_no_more_than_its_maker() {
        let few = Scopes::READ.and(Scopes::ADMIN);
        let maker = maker(few, Some(100), &["10.0.0.0/8"]);
        let grant = |asked: Wanted| granted(asked, Some(&maker));
        let (same, expires_at_ms) = grant(wanted(None, None, &[])).unwrap();
        assert_eq!((same, expires_at_ms), (maker.restrictions.clone(), Some(100)));
        let (less, expires_at_ms) = grant(wanted(Some(Scopes::READ), Some(50), &["10.1.0.0/16"])).unwrap();
        assert_eq!((less.scopes, expires_at_ms), (Scopes::READ, Some(50)));
        let refused = |asked: Wanted| grant(asked).unwrap_err();
        let too_much = refused(wanted(Some(Scopes::READ.and(Scopes::RUN)), None, &[]));
        assert!(matches!(too_much, Error::MissingScope(Scope::Run)), "{too_much}");
        for asked in [wanted(None, Some(101), &[]), wanted(None, None, &["10.0.0.0/7"])] {
            assert!(matches!(refused(asked), Error::Invalid { .. }));
        }
    }

    #[test]
    fn a_key_for_projects_is_not_for_the_team() {
        let projects = Some(vec![ProjectId::from_uuid(Uuid::nil())]);
        let (limited, _) = granted(Wanted { projects, ..wanted(None, None, &[]) }, None).unwrap();
        assert_eq!(limited.scopes, Scopes::ALL.without(Scopes::ADMIN));
        let (unlimited, _) = granted(wanted(None, None, &[]), None).unwrap();
        assert_eq!(unlimited, Restrictions::default());
    }
}
