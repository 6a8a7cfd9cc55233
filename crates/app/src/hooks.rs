//! Inbound hooks: set up, changed, and found by their address.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rowmill_model::hook::{HookHeader, OldAddress, is_secret_header};
use rowmill_model::limits::HOOK_HEADERS_MAX;
use rowmill_model::{ColumnType, Hook, HookId, Offence, Project, ProjectId, Scopes, Table, UnknownKeys};
use rowmill_store::StoredProject;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::app::App;
use crate::blocking::Effort;
use crate::caller::Caller;
use crate::error::{Error, Noun, Result};
use crate::ids::{random, uuid};
use crate::missing_columns::hook_problems;
use crate::outbound_webhooks::OVERLAP_HOURS_DEFAULT;
use crate::projects::{Change, check_name};

/// How many characters of a secret are shown, so that people can tell addresses apart.
const SHOWN_CHARS: usize = 4;

/// What a caller sets of a hook. `None` leaves it as it is, or for a new one as it is by default.
#[derive(Debug, Clone, Default)]
pub struct HookChanges {
    pub name: Option<String>,
    pub enabled: Option<bool>,
    pub unknown_keys: Option<UnknownKeys>,
    /// A column id or header; `Some(None)`: every row is inserted.
    pub match_on: Option<Option<String>>,
    pub match_case: Option<bool>,
    /// Names of headers to column ids or headers.
    pub headers: Option<BTreeMap<String, String>>,
}

impl HookChanges {
    /// A hook does for strangers what its maker may do: only who may change the table lets them add columns.
    fn check_scopes(&self, caller: Caller) -> Result<()> {
        let adds_columns = self.unknown_keys == Some(UnknownKeys::AddColumns);
        caller.needs(if adds_columns { Scopes::SCHEMA } else { Scopes::NONE })
    }
}

/// A hook as it is shown.
#[derive(Debug)]
pub struct SeenHook {
    pub project: ProjectId,
    pub hook: Hook,
    /// What is wrong with it by now, a sentence each.
    pub problems: Vec<String>,
}

/// A hook with the secret of its address, which is shown once.
#[derive(Debug)]
pub struct NewHook {
    pub seen: SeenHook,
    pub secret: String,
}

/// A hook that was found by its address.
#[derive(Debug)]
pub struct FoundHook {
    pub stored: StoredProject,
    pub id: HookId,
}

impl SeenHook {
    fn new(project: &Project, hook: &Hook) -> Self {
        Self { project: project.id, hook: hook.clone(), problems: hook_problems(hook, project) }
    }

    fn of(project: &Project, id: Option<HookId>) -> Result<Self> {
        let hook = project.hooks.iter().find(|hook| Some(hook.id) == id);
        Ok(Self::new(project, hook.ok_or(Error::NotFound(Noun::Hook))?))
    }
}

impl App {
    /// A project's hooks, oldest first.
    pub async fn hooks(&self, caller: Caller, project: &str) -> Result<Vec<SeenHook>> {
        caller.for_whole_team()?;
        let stored = self.project(caller, project).await?;
        Ok(stored.project.hooks.iter().map(|hook| SeenHook::new(&stored.project, hook)).collect())
    }

    pub async fn hook(&self, caller: Caller, project: &str, id: &str) -> Result<SeenHook> {
        caller.for_whole_team()?;
        SeenHook::of(&self.project(caller, project).await?.project, HookId::parse(id))
    }

    pub async fn create_hook(&self, caller: Caller, project: &str, new: HookChanges) -> Result<NewHook> {
        caller.for_whole_team()?;
        new.check_scopes(caller)?;
        let now_ms = self.clock.now_ms();
        let secret = new_secret()?;
        let id = HookId::from_uuid(uuid(now_ms)?);
        let new = HookChanges { name: Some(new.name.unwrap_or_default()), ..new };
        let hooks_max = self.limits.hooks_max;
        let saved = self.change(Effort::Quick, caller, project, None, |stored| {
            if u32::try_from(stored.project.hooks.len()).is_ok_and(|count| count >= hooks_max) {
                let message = format!("a project can have at most {hooks_max} inbound hooks (hooksMax)");
                return Err(Error::limit("", message));
            }
            let mut change = Change::from(stored);
            let mut hook = Hook {
                id,
                name: String::new(),
                created_at_ms: now_ms,
                secret_hash: hash(&secret),
                secret_end: shown(&secret),
                old_address: None,
                is_disabled: false,
                unknown_keys: UnknownKeys::default(),
                match_on: None,
                ignores_case: false,
                headers: Vec::new(),
            };
            apply(&mut hook, &new, &change.project.table)?;
            change.project.hooks.push(hook);
            Ok(change)
        });
        Ok(NewHook { seen: SeenHook::of(&saved.await?.project, Some(id))?, secret })
    }

    pub async fn change_hook(
        &self,
        caller: Caller,
        project: &str,
        id: &str,
        changes: HookChanges,
    ) -> Result<SeenHook> {
        changes.check_scopes(caller)?;
        self.alter_hook(caller, project, id, |hook, table| apply(hook, &changes, table)).await
    }

    /// Gives a hook a new address. The old one works, too, for some hours.
    pub async fn rotate_hook(
        &self,
        caller: Caller,
        project: &str,
        id: &str,
        overlap_hours: Option<u32>,
    ) -> Result<NewHook> {
        let secret = new_secret()?;
        let hours = overlap_hours.unwrap_or(OVERLAP_HOURS_DEFAULT);
        let until_ms = self.clock.now_ms() + i64::from(hours) * 60 * 60 * 1_000;
        let seen = self
            .alter_hook(caller, project, id, |hook, _| {
                let old = std::mem::replace(&mut hook.secret_hash, hash(&secret));
                hook.secret_end = shown(&secret);
                hook.old_address = (hours > 0).then_some(OldAddress { secret_hash: old, until_ms });
                Ok(())
            })
            .await?;
        Ok(NewHook { seen, secret })
    }

    /// What it received stays for as long as all else does.
    pub async fn delete_hook(&self, caller: Caller, project: &str, id: &str) -> Result<()> {
        caller.for_whole_team()?;
        let id = HookId::parse(id);
        self.change(Effort::Quick, caller, project, None, |stored| {
            let mut change = Change::from(stored);
            change.project.hooks.retain(|hook| Some(hook.id) != id);
            if change.project.hooks.len() == stored.project.hooks.len() {
                return Err(Error::NotFound(Noun::Hook));
            }
            Ok(change)
        })
        .await?;
        Ok(())
    }

    async fn alter_hook(
        &self,
        caller: Caller,
        project: &str,
        id: &str,
        alter: impl Fn(&mut Hook, &Table) -> Result<()>,
    ) -> Result<SeenHook> {
        caller.for_whole_team()?;
        let id = HookId::parse(id);
        let saved = self.change(Effort::Quick, caller, project, None, |stored| {
            let mut change = Change::from(stored);
            let hook = change.project.hooks.iter_mut().find(|hook| Some(hook.id) == id);
            alter(hook.ok_or(Error::NotFound(Noun::Hook))?, &stored.project.table)?;
            Ok(change)
        });
        SeenHook::of(&saved.await?.project, id)
    }

    /// The hook that an address names. A project that does not exist and a secret that is wrong are the same, and take the
    /// same work: one hash, one look into the store, and every hook's hash compared in constant time.
    pub async fn hook_at(&self, project: &str, secret: &str) -> Result<FoundHook> {
        let sent = hash(secret);
        let stored = match ProjectId::parse(project) {
            Some(id) => self.store.project(id).await?,
            None => None,
        };
        let now_ms = self.clock.now_ms();
        let is_sent = |known: &str| bool::from(known.as_bytes().ct_eq(sent.as_bytes()));
        let mut found = None;
        for hook in stored.iter().flat_map(|stored| &stored.project.hooks) {
            let is_new = is_sent(&hook.secret_hash);
            let old = hook.old_address.as_ref();
            let is_old = old.is_some_and(|old| is_sent(&old.secret_hash) && now_ms < old.until_ms);
            if is_new || is_old {
                found = Some(hook.id);
            }
        }
        let found = stored.zip(found).map(|(stored, id)| FoundHook { stored, id });
        found.ok_or(Error::NotFound(Noun::Hook))
    }
}

fn new_secret() -> Result<String> {
    let bytes: [u8; 32] = random()?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// What is stored: the secret has 256 random bits, so one round of a fast hash is enough.
fn hash(secret: &str) -> String {
    let digest = Sha256::digest(secret.as_bytes());
    digest.iter().fold(String::with_capacity(64), |mut text, byte| {
        use std::fmt::Write as _;
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn shown(secret: &str) -> String {
    secret.get(secret.len().saturating_sub(SHOWN_CHARS)..).unwrap_or_default().to_owned()
}

fn apply(hook: &mut Hook, changes: &HookChanges, table: &Table) -> Result<()> {
    let HookChanges { name, enabled, unknown_keys, match_on, match_case, headers } = changes;
    let mut offences = Vec::new();
    if let Some(name) = name {
        hook.name = check_name("name", name, &mut offences);
    }
    if let Some(enabled) = enabled {
        hook.is_disabled = !enabled;
    }
    if let Some(unknown_keys) = unknown_keys {
        hook.unknown_keys = *unknown_keys;
    }
    if let Some(match_on) = match_on {
        let column = match_on.as_deref().map(|name| column(table, name));
        match column.transpose() {
            Ok(column) => hook.match_on = column,
            Err(message) => offences.push(Offence::new("matchOn", message)),
        }
    }
    if let Some(match_case) = match_case {
        hook.ignores_case = !match_case;
    }
    if let Some(headers) = headers {
        hook.headers = read_headers(headers, table, &mut offences);
    }
    if offences.is_empty() { Ok(()) } else { Err(Error::invalid(offences)) }
}

fn read_headers(
    headers: &BTreeMap<String, String>,
    table: &Table,
    offences: &mut Vec<Offence>,
) -> Vec<HookHeader> {
    if headers.len() > HOOK_HEADERS_MAX {
        offences.push(Offence::new("headers", format!("must name at most {HOOK_HEADERS_MAX} headers")));
        return Vec::new();
    }
    let mut read = Vec::with_capacity(headers.len());
    for (name, wanted) in headers {
        let path = format!("headers.{name}");
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if name.is_empty() || name.len() > 100 || !name.bytes().all(is_token) {
            offences.push(Offence::new(path, "must be the name of a header, such as X-Source"));
            continue;
        }
        if is_secret_header(name) {
            let message = "may carry a secret, so it is not stored; name another header";
            offences.push(Offence::new(path, message));
            continue;
        }
        match column(table, wanted) {
            Ok(column) => read.push(HookHeader { name: name.to_ascii_lowercase(), column }),
            Err(message) => offences.push(Offence::new(path, message)),
        }
    }
    read
}

/// The id of a column that can be written into.
fn column(table: &Table, name: &str) -> std::result::Result<rowmill_model::ColumnId, String> {
    let column = table.named(name).ok_or_else(|| table.no_column(name, 0))?;
    if column.kind == ColumnType::Reference {
        return Err("is a reference column, which is read-only; name its source column instead".to_owned());
    }
    Ok(column.id.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_stored_as_its_hash() {
        let secret = new_secret().unwrap();
        assert_eq!((secret.len(), hash(&secret).len(), shown(&secret).len()), (43, 64, 4));
        assert!(secret.ends_with(&shown(&secret)));
        assert_eq!(hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
