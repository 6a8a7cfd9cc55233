//! What must be known of a column to estimate what its cells take: whom it asks, and how fast.

use rowmill_model::column::RateLimit;

/// Whom a column asks, and what limits its calls.
#[derive(Debug, Clone, Default)]
pub struct Forecast {
    /// Those that are paid, by id.
    pub providers: Vec<String>,
    /// The model, if one is asked.
    pub model: Option<String>,
    /// Who is asked for web searches, in order.
    pub search_providers: Vec<String>,
    pub limits: Vec<ForecastLimit>,
    /// Calls at the same time.
    pub at_once: usize,
    /// Which credential there must be first, in words.
    pub missing_credential: Option<String>,
}

/// A limit on calls. Columns that name the same one share it.
#[derive(Debug, Clone)]
pub struct ForecastLimit {
    pub name: String,
    /// All of them hold at once.
    pub rates: Vec<RateLimit>,
    /// The calls that one cell usually makes under it.
    pub calls: f64,
}
