//! Outbound webhooks: set up, changed, tested, and what became of their deliveries.

use std::collections::BTreeSet;

use rowmill_model::limits::{WEBHOOK_DESCRIPTION_CHARS_MAX, WEBHOOK_FILTER_IDS_MAX, WEBHOOK_URL_CHARS_MAX};
use rowmill_model::webhook::{Disabled, DisabledReason, OldSecret, TEST_EVENT};
use rowmill_model::{ColumnId, EventType, Offence, ProjectId, TeamId, Webhook, WebhookId};
use rowmill_store::changes::timestamp;
use rowmill_store::webhooks::{NewDelivery, TeamWebhooks, WebhooksSave};
use rowmill_store::{ProjectPage, StoreError};
use serde_json::json;
use url::Url;

use crate::app::App;
use crate::caller::Caller;
use crate::error::{Error, Noun, Result};
use crate::ids::uuids;
use crate::projects::ATTEMPTS_MAX;

/// How long a replaced secret still signs, unless the caller says otherwise.
pub const OVERLAP_HOURS_DEFAULT: u32 = 24;

/// What a caller sets of a webhook. `None` leaves it as it is, or for a new one as it is by default.
#[derive(Debug, Clone, Default)]
pub struct WebhookChanges {
    pub url: Option<String>,
    pub events: Option<Vec<EventType>>,
    /// `Some(None)`: all of them.
    pub project_ids: Option<Option<Vec<String>>>,
    pub column_ids: Option<Option<Vec<String>>>,
    pub description: Option<String>,
    pub enabled: Option<bool>,
}

/// A webhook with its secret, which is shown once.
#[derive(Debug)]
pub struct NewWebhook {
    pub webhook: Webhook,
    pub secret: String,
}

impl App {
    /// The caller's team's webhooks, oldest first.
    pub async fn webhooks(&self, caller: Caller) -> Result<Vec<Webhook>> {
        Ok(self.store.webhooks(caller.for_whole_team()?.team).await?.webhooks)
    }

    pub async fn webhook(&self, caller: Caller, id: &str) -> Result<Webhook> {
        let stored = self.store.webhooks(caller.for_whole_team()?.team).await?;
        found(&stored, id).cloned()
    }

    pub async fn create_webhook(&self, caller: Caller, new: WebhookChanges) -> Result<NewWebhook> {
        let team = caller.for_whole_team()?.team;
        let now_ms = self.clock.now_ms();
        let id = uuids(now_ms)?.next().map(WebhookId::from_uuid);
        let id = id.ok_or_else(|| Error::Internal("no id could be made".into()))?;
        let (secret, sealed_secret) = self.new_webhook_secret(team, id)?;
        let mut webhook = Webhook {
            id,
            url: String::new(),
            description: String::new(),
            events: Vec::new(),
            project_ids: None,
            column_ids: None,
            created_at_ms: now_ms,
            sealed_secret,
            old_secret: None,
            disabled: None,
            failing_since_ms: None,
            dropping_since_ms: None,
            last_gap: None,
        };
        let new = WebhookChanges {
            url: Some(new.url.unwrap_or_default()),
            events: Some(new.events.unwrap_or_default()),
            ..new
        };
        self.apply_webhook_changes(team, &mut webhook, new).await?;
        let webhooks_max = self.limits.webhooks_max;
        let webhook = self
            .alter_webhooks(team, |stored| {
                if u32::try_from(stored.webhooks.len()).is_ok_and(|count| count >= webhooks_max) {
                    let message = format!("a team can have at most {webhooks_max} webhooks (webhooksMax)");
                    return Err(Error::limit("", message));
                }
                stored.webhooks.push(webhook.clone());
                Ok((webhook.clone(), Vec::new()))
            })
            .await?;
        Ok(NewWebhook { webhook, secret })
    }

    pub async fn change_webhook(&self, caller: Caller, id: &str, changes: WebhookChanges) -> Result<Webhook> {
        let team = caller.for_whole_team()?.team;
        let mut seen = self.webhook(caller, id).await?;
        // Checked before, because it reads projects; then the same is done to what is there by then.
        self.apply_webhook_changes(team, &mut seen, changes.clone()).await?;
        let (is_enabled, now_ms) = (changes.enabled, self.clock.now_ms());
        self.alter_webhooks(team, |stored| {
            let webhook = found_mut(stored, id)?;
            if changes.url.is_some() {
                webhook.url.clone_from(&seen.url);
            }
            if changes.events.is_some() {
                webhook.events.clone_from(&seen.events);
            }
            if changes.project_ids.is_some() {
                webhook.project_ids.clone_from(&seen.project_ids);
            }
            if changes.column_ids.is_some() {
                webhook.column_ids.clone_from(&seen.column_ids);
            }
            if changes.description.is_some() {
                webhook.description.clone_from(&seen.description);
            }
            if let Some(is_enabled) = is_enabled {
                set_enabled(webhook, is_enabled, now_ms);
            }
            Ok((webhook.clone(), Vec::new()))
        })
        .await
    }

    pub async fn delete_webhook(&self, caller: Caller, id: &str) -> Result<()> {
        let team = caller.for_whole_team()?.team;
        let deleted = self
            .alter_webhooks(team, |stored| {
                let id = found(stored, id)?.id;
                stored.webhooks.retain(|webhook| webhook.id != id);
                Ok((id, Vec::new()))
            })
            .await?;
        // Whatever is left is forgotten when it is to be delivered.
        while self.store.forget_deliveries(deleted).await? {}
        Ok(())
    }

    /// Gives a webhook a new secret. The old one signs, too, for some hours.
    pub async fn rotate_webhook_secret(
        &self,
        caller: Caller,
        id: &str,
        overlap_hours: Option<u32>,
    ) -> Result<NewWebhook> {
        let team = caller.for_whole_team()?.team;
        let seen = self.webhook(caller, id).await?;
        let (secret, sealed) = self.new_webhook_secret(team, seen.id)?;
        let hours = overlap_hours.unwrap_or(OVERLAP_HOURS_DEFAULT);
        let until_ms = self.clock.now_ms() + i64::from(hours) * 60 * 60 * 1_000;
        let webhook = self
            .alter_webhooks(team, |stored| {
                let webhook = found_mut(stored, id)?;
                let old = std::mem::replace(&mut webhook.sealed_secret, sealed.clone());
                webhook.old_secret = (hours > 0).then_some(OldSecret { sealed: old, until_ms });
                Ok((webhook.clone(), Vec::new()))
            })
            .await?;
        Ok(NewWebhook { webhook, secret })
    }

    /// Has a test event delivered.
    pub async fn test_webhook(&self, caller: Caller, id: &str) -> Result<()> {
        let team = caller.for_whole_team()?.team;
        let now_ms = self.clock.now_ms();
        self.alter_webhooks(team, |stored| {
            let webhook = found(stored, id)?;
            check_enabled(webhook)?;
            let body = json!({
                "type": TEST_EVENT,
                "timestamp": timestamp(now_ms),
                "data": { "webhookId": webhook.id, "message": "This is a test event." },
            });
            let delivery = NewDelivery {
                webhook: webhook.id,
                event: TEST_EVENT.to_owned(),
                project: None,
                seq: 0,
                created_at_ms: now_ms,
                body: body.to_string(),
            };
            Ok(((), vec![delivery]))
        })
        .await
    }

    /// Changes a team's webhooks. If somebody else does at the same moment, it is decided again.
    async fn alter_webhooks<T>(
        &self,
        team: TeamId,
        mut decide: impl FnMut(&mut TeamWebhooks) -> Result<(T, Vec<NewDelivery>)>,
    ) -> Result<T> {
        for _ in 0..ATTEMPTS_MAX {
            let mut stored = self.store.webhooks(team).await?;
            let (outcome, deliveries) = decide(&mut stored)?;
            let TeamWebhooks { version, webhooks } = stored;
            match self.store.save_webhooks(WebhooksSave { team, version, webhooks, deliveries }).await {
                Err(StoreError::Stale) => {}
                saved => return Ok(saved.map(|()| outcome)?),
            }
        }
        Err(Error::Internal("the team's webhooks changed repeatedly during the request; gave up".into()))
    }

    async fn apply_webhook_changes(
        &self,
        team: TeamId,
        webhook: &mut Webhook,
        changes: WebhookChanges,
    ) -> Result<()> {
        let WebhookChanges { url, events, project_ids, column_ids, description, enabled: _ } = changes;
        let mut offences = Vec::new();
        if let Some(url) = url {
            webhook.url = url.trim().to_owned();
            check_url(&webhook.url, &mut offences);
        }
        if let Some(mut events) = events {
            if events.is_empty() {
                offences.push(Offence::new("events", "must name at least one event"));
            }
            events.sort_unstable();
            events.dedup();
            webhook.events = events;
        }
        if let Some(description) = description {
            webhook.description = description.trim().to_owned();
            if webhook.description.chars().count() > WEBHOOK_DESCRIPTION_CHARS_MAX {
                let message = format!("must have at most {WEBHOOK_DESCRIPTION_CHARS_MAX} characters");
                offences.push(Offence::new("description", message));
            }
        }
        for (path, ids) in [("projectIds", &project_ids), ("columnIds", &column_ids)] {
            let count = ids.iter().flatten().flatten().count();
            if matches!(ids, Some(Some(_))) && !(1..=WEBHOOK_FILTER_IDS_MAX).contains(&count) {
                let message =
                    format!("must name 1 to {WEBHOOK_FILTER_IDS_MAX}, or be left out for all of them");
                offences.push(Offence::new(path, message));
            }
        }
        if !offences.is_empty() {
            return Err(Error::invalid(offences));
        }
        let is_filter_changed = project_ids.is_some() || column_ids.is_some();
        if let Some(project_ids) = project_ids {
            webhook.project_ids = match project_ids {
                Some(ids) => Some(self.webhook_projects(team, &ids).await?),
                None => None,
            };
        }
        if let Some(column_ids) = column_ids {
            webhook.column_ids = column_ids.map(|ids| ids.into_iter().map(ColumnId::new).collect());
        }
        // A column that was deleted since does not stand in the way of other changes.
        match &webhook.column_ids {
            Some(ids) if is_filter_changed => {
                self.check_webhook_columns(team, webhook.project_ids.as_deref(), ids).await
            }
            _ => Ok(()),
        }
    }

    /// The team's projects with these ids.
    async fn webhook_projects(&self, team: TeamId, ids: &[String]) -> Result<Vec<ProjectId>> {
        let (mut known, mut unknown) = (Vec::with_capacity(ids.len()), Vec::new());
        for (index, text) in ids.iter().enumerate() {
            let stored = match ProjectId::parse(text) {
                Some(id) => self.store.project(id).await?,
                None => None,
            };
            match stored.filter(|stored| stored.project.team == team) {
                Some(stored) => known.push(stored.project.id),
                None => unknown
                    .push(Offence::new(format!("projectIds[{index}]"), "names no project of this team")),
            }
        }
        known.dedup();
        if unknown.is_empty() { Ok(known) } else { Err(Error::invalid(unknown)) }
    }

    /// Each column must be in one of the projects, or of the team's, if none are named.
    async fn check_webhook_columns(
        &self,
        team: TeamId,
        projects: Option<&[ProjectId]>,
        ids: &[ColumnId],
    ) -> Result<()> {
        let (projects, words) = if let Some(projects) = projects {
            (projects.to_vec(), "names no column of the projects in projectIds")
        } else {
            let all = self.store.projects(team, None, ProjectPage::ALL).await?;
            (all.into_iter().map(|summary| summary.id).collect(), "names no column of this team's projects")
        };
        let mut unknown: BTreeSet<&ColumnId> = ids.iter().collect();
        for project in projects {
            if unknown.is_empty() {
                return Ok(());
            }
            let stored = self.store.project(project).await?;
            for column in stored.iter().flat_map(|stored| &stored.project.table.columns) {
                unknown.remove(&column.id);
            }
        }
        let offence = |(index, _)| Offence::new(format!("columnIds[{index}]"), words);
        let details: Vec<Offence> =
            ids.iter().enumerate().filter(|(_, id)| unknown.contains(id)).map(offence).collect();
        if details.is_empty() { Ok(()) } else { Err(Error::invalid(details)) }
    }
}

fn found<'w>(stored: &'w TeamWebhooks, id: &str) -> Result<&'w Webhook> {
    let id = WebhookId::parse(id);
    let webhook = stored.webhooks.iter().find(|webhook| Some(webhook.id) == id);
    webhook.ok_or(Error::NotFound(Noun::Webhook))
}

fn found_mut<'w>(stored: &'w mut TeamWebhooks, id: &str) -> Result<&'w mut Webhook> {
    let id = WebhookId::parse(id);
    let webhook = stored.webhooks.iter_mut().find(|webhook| Some(webhook.id) == id);
    webhook.ok_or(Error::NotFound(Noun::Webhook))
}

/// Refuses to deliver anything to a webhook that is disabled.
pub(crate) fn check_enabled(webhook: &Webhook) -> Result<()> {
    if webhook.disabled.is_none() {
        return Ok(());
    }
    Err(Error::invalid(vec![Offence::new("webhookId", "is disabled; enable the webhook first")]))
}

fn set_enabled(webhook: &mut Webhook, is_enabled: bool, now_ms: i64) {
    if is_enabled {
        (webhook.disabled, webhook.failing_since_ms) = (None, None);
    } else if webhook.disabled.is_none() {
        webhook.disabled = Some(Disabled { at_ms: now_ms, reason: DisabledReason::Team });
    }
}

fn check_url(text: &str, offences: &mut Vec<Offence>) {
    let message = match Url::parse(text) {
        _ if text.chars().count() > WEBHOOK_URL_CHARS_MAX => {
            format!("must have at most {WEBHOOK_URL_CHARS_MAX} characters")
        }
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => {
            if url.username().is_empty() && url.password().is_none() {
                return;
            }
            "must not contain a user name or password; check the signature instead".to_owned()
        }
        _ => "must be an http or https URL, such as https://example.com/hooks/rowmill".to_owned(),
    };
    offences.push(Offence::new("url", message));
}
