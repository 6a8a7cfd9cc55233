//! What counts under a spending cap: which lines of the ledger, and which reservations.

use rowmill_model::plan::Tally;
use rowmill_model::spending::CapScope;
use rowmill_model::{Cap, ProjectId};

use crate::spending::{Money, Reserve};

/// Where it stands what a cap has spent.
#[derive(Debug, PartialEq, Eq)]
pub enum SpentUnder<'c> {
    /// In the lines of the ledger from a day on, of one project or provider if one is named.
    Ledger { first_day: i64, project: Option<ProjectId>, provider: Option<&'c str> },
    /// In the counts of the run: this much.
    Run(Money),
}

impl<'c> SpentUnder<'c> {
    /// A run's is known only with its counts.
    pub fn of(cap: &'c Cap, now_ms: i64, tally: Option<&Tally>) -> Self {
        match cap.first_day(now_ms) {
            Some(first_day) => Self::Ledger {
                first_day,
                project: cap.project_id.filter(|_| cap.scope == CapScope::Project),
                provider: cap.provider.as_deref(),
            },
            None => Self::Run(tally.map(|tally| Money::spent(&tally.run().spent)).unwrap_or_default()),
        }
    }
}

/// Which reservations of a team are under a cap.
#[derive(Debug, PartialEq, Eq)]
pub struct ReservedUnder {
    pub project: Option<ProjectId>,
    /// A pattern for LIKE, over what [`Reserve::providers_text`] makes.
    pub providers_like: Option<String>,
}

impl ReservedUnder {
    /// A run's reservations are those of the project that asks.
    pub fn of(cap: &Cap, asked: Option<&Reserve>) -> Self {
        let of_run = asked.filter(|_| cap.scope == CapScope::Run).map(|asked| asked.lane.project);
        Self {
            project: cap.project_id.or(of_run),
            providers_like: cap.provider.as_ref().map(|provider| format!("%,{provider},%")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rowmill_model::spending::CapPeriod;
    use rowmill_model::{ColumnId, TeamId};
    use uuid::Uuid;

    use super::*;
    use crate::work::{Lane, WorkerId};

    const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

    fn id(number: u128) -> ProjectId {
        ProjectId::from_uuid(Uuid::from_u128(number))
    }

    fn cap(scope: CapScope, project_id: Option<ProjectId>, provider: Option<&str>) -> Cap {
        let period = (scope != CapScope::Run).then_some(CapPeriod::Day);
        Cap {
            scope,
            project_id,
            provider: provider.map(str::to_owned),
            period,
            usd: Some(1.0),
            credits: None,
        }
    }

    #[test]
    fn a_cap_counts_what_it_is_about() {
        let check = |cap: &Cap, project, provider| {
            let expected = SpentUnder::Ledger { first_day: 3, project, provider };
            assert_eq!(SpentUnder::of(cap, 3 * DAY_MS + 7, None), expected);
        };
        check(&cap(CapScope::Team, None, None), None, None);
        check(&cap(CapScope::Project, Some(id(1)), None), Some(id(1)), None);
        check(&cap(CapScope::Credential, None, Some("hunter")), None, Some("hunter"));
        let of_run = cap(CapScope::Run, None, None);
        assert_eq!(SpentUnder::of(&of_run, 0, None), SpentUnder::Run(Money::default()));
        assert_eq!(SpentUnder::of(&of_run, 0, Some(&Tally::default())), SpentUnder::Run(Money::default()));
    }

    #[test]
    fn a_run_is_under_its_cap_with_its_project() {
        let asked = Reserve {
            worker: WorkerId(Uuid::nil()),
            expires_at_ms: 0,
            now_ms: 0,
            team: TeamId(Uuid::nil()),
            lane: Lane { project: id(7), slot: 1 },
            column: ColumnId::new("col"),
            providers: vec!["openai".to_owned(), "hunter".to_owned()],
            guess: Money::default(),
            guess_parts: BTreeMap::new(),
            held: Money::default(),
            in_flight: 0,
            wanted: 1,
        };
        let under = |cap: &Cap, asked: Option<&Reserve>| ReservedUnder::of(cap, asked).project;
        let of_run = cap(CapScope::Run, None, None);
        assert_eq!((under(&of_run, Some(&asked)), under(&of_run, None)), (Some(id(7)), None));
        assert_eq!(under(&cap(CapScope::Team, None, None), Some(&asked)), None);
        assert_eq!(under(&cap(CapScope::Run, Some(id(1)), None), Some(&asked)), Some(id(1)));
        let like = ReservedUnder::of(&cap(CapScope::Credential, None, Some("hunter")), None).providers_like;
        assert!(asked.providers_text().contains(like.unwrap().trim_matches('%')));
    }
}
