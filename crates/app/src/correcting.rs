//! What becomes of a column that is not right as it was sent.

use rowmill_model::Offence;
use rowmill_model::corrections::Corrected;

/// What becomes of a column that is not right as it was sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Correcting {
    /// It is corrected, unless that would lose a reference that worked.
    #[default]
    Carefully,
    /// It is corrected.
    Freely,
    /// It is refused, with every correction that would change what was asked for. Headers are still written as ids, and
    /// what is missing is filled in.
    Never,
}

/// A corrected column, or why it is not to be corrected.
pub(crate) fn allowed(
    corrected: Result<Corrected, Vec<Offence>>,
    correcting: Correcting,
) -> Result<Corrected, Vec<Offence>> {
    let corrected = corrected?;
    let offences: Vec<Offence> = match correcting {
        Correcting::Freely => Vec::new(),
        Correcting::Carefully => corrected.losses.clone(),
        Correcting::Never => corrected.refusals.clone(),
    };
    if offences.is_empty() { Ok(corrected) } else { Err(offences) }
}
