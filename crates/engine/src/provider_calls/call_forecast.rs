//! What the calls of a column's cells will be.

use crate::call_limits::CallLimit;
use crate::cell_runner::Payees;

/// Whom a column pays, what limits its calls, and how many there can be at once.
#[derive(Debug)]
pub struct CallForecast {
    pub payees: Payees,
    /// Each with the calls that one cell usually makes under it.
    pub limits: Vec<(CallLimit, f64)>,
    pub at_once: usize,
    /// Why nobody can be asked, in words.
    pub missing_credential: Option<String>,
}
