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
    /// It is refused, with every correction that it needs.
    Never,
    /// Names are written as ids, and what is missing is filled in. Any other correction is refused.
    Names,
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
        Correcting::Names => corrected.refusals.clone(),
        Correcting::Never => {
            let fixes = corrected.fix_places.iter().zip(&corrected.fixes);
            fixes
                .map(|(place, fix)| Offence::new(place.as_str(), format!("needs a correction: {fix}")))
                .collect()
        }
    };
    if offences.is_empty() { Ok(corrected) } else { Err(offences) }
}
