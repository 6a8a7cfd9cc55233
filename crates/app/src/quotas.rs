//! Quotas: how much a team may store.

/// What the operator lets each team store. None is no quota.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quotas {
    /// Rows of all of a team's projects together.
    pub team_rows_max: Option<u64>,
}
