//! What all questions to one vendor have in common: its key, and what its refusals mean.

pub(crate) mod apollo;
pub(crate) mod hunter;
pub(crate) mod leadmagic;
