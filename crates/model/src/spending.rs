//! What a team may spend: its own prices, and its caps.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::ProjectId;
use crate::offence::Offence;
use crate::prices::{ModelPrice, ProviderPrice};
use crate::provider::Provider;
use crate::spent::Amount;

/// How many caps a team can have.
pub const CAPS_MAX: usize = 100;
/// How many prices of models a team can have.
pub const PRICES_MAX: usize = 500;
/// Stands for a column in the ledger: what comparisons of prompts have cost. They say nothing of what a cell costs.
pub const COMPARISONS: &str = "_comparisons";
const MILLISECONDS_A_DAY: i64 = 24 * 60 * 60 * 1_000;

/// What a team has set, as it is stored.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SpendingSettings {
    /// By the model's name. They come before the price list.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<String, ModelPrice>,
    /// By the provider's id.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub providers: BTreeMap<String, ProviderPrice>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub caps: Vec<Cap>,
}

/// What a cap counts: all of the team, one project, one provider's credential, or each run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CapScope {
    Team,
    Project,
    Credential,
    /// Each run by itself, of one project or of all.
    Run,
}

/// When a cap begins again: with each UTC day, or with each UTC month.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CapPeriod {
    Day,
    Month,
}

/// What may be spent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cap {
    pub scope: CapScope,
    /// For the scope `project`, and for `run` if only the runs of one project are meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
    /// For the scope `credential`: the provider's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// For all scopes but `run`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<CapPeriod>,
    /// US dollars. Either this or `credits`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
    /// Providers' credits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credits: Option<f64>,
}

impl Cap {
    /// What may be spent, in thousand-millionths of a dollar or a credit.
    pub fn most(&self) -> i64 {
        self.usd.or(self.credits).and_then(Amount::told).map_or(0, Amount::parts)
    }

    pub fn is_in_dollars(&self) -> bool {
        self.usd.is_some()
    }

    /// Whether it holds for a project and any of these providers.
    pub fn is_about(&self, project: ProjectId, providers: &[String]) -> bool {
        match self.scope {
            CapScope::Team => true,
            CapScope::Project => self.project_id == Some(project),
            CapScope::Run => self.project_id.is_none_or(|only| only == project),
            CapScope::Credential => {
                self.provider.as_ref().is_some_and(|provider| providers.contains(provider))
            }
        }
    }

    /// The first day that counts, as days since 1970; `None` for a run.
    pub fn first_day(&self, now_ms: i64) -> Option<i64> {
        let period = self.period.filter(|_| self.scope != CapScope::Run)?;
        let today = day_of(now_ms);
        Some(match period {
            CapPeriod::Day => today,
            CapPeriod::Month => today - i64::from(date_of(now_ms).day() - 1),
        })
    }

    /// When it begins again, in Unix milliseconds; `None` for a run.
    pub fn resets_at_ms(&self, now_ms: i64) -> Option<i64> {
        let first_day = self.first_day(now_ms)?;
        let days = match self.period? {
            CapPeriod::Day => 1,
            CapPeriod::Month => i64::from(date_of(now_ms).days_in_month()),
        };
        Some((first_day + days) * MILLISECONDS_A_DAY)
    }

    /// What it is, in words: "the team's cap of $5 a day".
    pub fn words(&self) -> String {
        let whose = match self.scope {
            CapScope::Team => "The team's cap".to_owned(),
            CapScope::Project => "The project's cap".to_owned(),
            CapScope::Run => "The cap for a run".to_owned(),
            CapScope::Credential => format!("The cap for {}", self.provider.as_deref().unwrap_or_default()),
        };
        let amount = match (self.usd, self.credits) {
            (Some(usd), _) => format!("${usd}"),
            (None, credits) => format!("{} credits", credits.unwrap_or_default()),
        };
        let period = match self.period.filter(|_| self.scope != CapScope::Run) {
            Some(CapPeriod::Day) => " a day",
            Some(CapPeriod::Month) => " a month",
            None => "",
        };
        format!("{whose} of {amount}{period}")
    }

    fn offences(&self, path: &str, offences: &mut Vec<Offence>) {
        let mut tell =
            |field: &str, words: &str| offences.push(Offence::new(format!("{path}.{field}"), words));
        let may_have_project = matches!(self.scope, CapScope::Project | CapScope::Run);
        if self.scope == CapScope::Project && self.project_id.is_none() {
            tell("projectId", "is required for the scope project");
        }
        if !may_have_project && self.project_id.is_some() {
            tell("projectId", "is for the scopes project and run only");
        }
        match (&self.provider, self.scope) {
            (None, CapScope::Credential) => tell("provider", "is required for the scope credential"),
            (Some(provider), CapScope::Credential) if Provider::named(provider).is_none() => {
                tell("provider", "is not a provider of this server");
            }
            (Some(_), scope) if scope != CapScope::Credential => {
                tell("provider", "is for the scope credential only");
            }
            _ => {}
        }
        match (self.period, self.scope) {
            (Some(_), CapScope::Run) => tell("period", "is not for the scope run"),
            (None, scope) if scope != CapScope::Run => tell("period", "is required: day or month"),
            _ => {}
        }
        if self.usd.is_some() == self.credits.is_some() {
            tell("usd", "give either usd or credits");
        }
    }
}

impl SpendingSettings {
    /// What is wrong with them.
    pub fn offences(&self) -> Vec<Offence> {
        let mut offences = Vec::new();
        if self.caps.len() > CAPS_MAX {
            offences.push(Offence::new("caps", format!("has more than {CAPS_MAX} entries")));
        }
        for (index, cap) in self.caps.iter().take(CAPS_MAX).enumerate() {
            cap.offences(&format!("caps[{index}]"), &mut offences);
        }
        if self.models.len() > PRICES_MAX {
            offences.push(Offence::new("models", format!("has more than {PRICES_MAX} entries")));
        }
        for name in self.providers.keys().filter(|name| Provider::named(name).is_none()) {
            offences.push(Offence::new(format!("providers.{name}"), "is not a provider of this server"));
        }
        offences
    }
}

/// The UTC day, as days since 1970.
pub fn day_of(now_ms: i64) -> i64 {
    now_ms.div_euclid(MILLISECONDS_A_DAY)
}

/// The beginning of a UTC day, in Unix milliseconds.
pub fn day_starts_ms(day: i64) -> i64 {
    day.saturating_mul(MILLISECONDS_A_DAY)
}

fn date_of(now_ms: i64) -> Date {
    Timestamp::from_millisecond(now_ms).unwrap_or_default().to_zoned(TimeZone::UTC).date()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cap(scope: CapScope, period: Option<CapPeriod>) -> Cap {
        Cap { scope, project_id: None, provider: None, period, usd: Some(5.0), credits: None }
    }

    fn at(text: &str) -> i64 {
        text.parse::<Timestamp>().unwrap().as_millisecond()
    }

    #[test]
    fn periods_begin_with_the_day_and_the_month() {
        let now_ms = at("2026-02-28T23:59:59Z");
        let month = cap(CapScope::Team, Some(CapPeriod::Month));
        assert_eq!(month.first_day(now_ms), Some(day_of(at("2026-02-01T00:00:00Z"))));
        assert_eq!(month.resets_at_ms(now_ms), Some(at("2026-03-01T00:00:00Z")));
        let day = cap(CapScope::Team, Some(CapPeriod::Day));
        assert_eq!(day.first_day(now_ms), Some(day_of(now_ms)));
        assert_eq!(day.resets_at_ms(now_ms), Some(at("2026-03-01T00:00:00Z")));
        assert_eq!(cap(CapScope::Run, None).resets_at_ms(now_ms), None);
        assert_eq!(day.words(), "The team's cap of $5 a day");
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let all = SpendingSettings {
            caps: vec![
                cap(CapScope::Team, None),
                cap(CapScope::Run, Some(CapPeriod::Day)),
                Cap { credits: Some(1.0), ..cap(CapScope::Project, Some(CapPeriod::Day)) },
                Cap {
                    provider: Some("nobody".to_owned()),
                    ..cap(CapScope::Credential, Some(CapPeriod::Month))
                },
            ],
            ..SpendingSettings::default()
        };
        let paths: Vec<String> = all.offences().into_iter().map(|offence| offence.path).collect();
        let expected =
            ["caps[0].period", "caps[1].period", "caps[2].projectId", "caps[2].usd", "caps[3].provider"];
        assert_eq!(paths, expected);
    }
}
