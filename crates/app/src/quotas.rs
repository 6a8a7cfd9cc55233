//! Quotas: how much a team may store.

/// What the operator lets each team store. None is no quota.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quotas {
    /// Rows of all of a team's projects together.
    pub team_rows_max: Option<u64>,
    /// Bytes of the values of all these rows, as they are stored.
    pub team_bytes_max: Option<u64>,
}
