//! The settings of a column that researches.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a model may do to find the answer: search the web, read pages, and for how long.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Research {
    /// The search providers to ask, such as `searxng` or `brave`, in this order: the next one is asked if one fails or
    /// finds nothing. Empty: all that are configured.
    #[serde(default)]
    #[schemars(length(max = 20), inner(length(min = 1, max = 64)))]
    pub search_providers: Vec<String>,
    /// Whether the model's provider searches, instead of the search providers: OpenAI's or Anthropic's own web search.
    #[serde(default)]
    pub hosted_search: bool,
    /// The two-letter code of the country to search for, such as `de`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 2))]
    pub country: Option<String>,
    /// Maximum number of answers of the model. The last one gives the result.
    #[serde(default = "steps_default")]
    #[schemars(range(min = 1, max = 50))]
    pub max_steps: u32,
    /// Maximum number of searches and pages together.
    #[serde(default = "calls_default")]
    #[schemars(range(min = 0, max = 200))]
    pub max_calls: u32,
    /// Maximum number of searches.
    #[serde(default = "searches_default")]
    #[schemars(range(min = 0, max = 200))]
    pub max_searches: u32,
    /// Maximum number of input tokens of all steps together. Each step sends what was found before.
    #[serde(default = "input_tokens_default")]
    #[schemars(range(min = 1_000, max = 10_000_000))]
    pub max_input_tokens: u32,
    /// Maximum number of output tokens of all steps together.
    #[serde(default = "output_tokens_default")]
    #[schemars(range(min = 100, max = 1_000_000))]
    pub max_output_tokens: u32,
    /// Maximum time, in seconds.
    #[serde(default = "seconds_default")]
    #[schemars(range(min = 1, max = 800))]
    pub max_seconds: u32,
    /// Maximum cost in US dollars: as providers tell it, else by the team's prices and the price list. What has no price is
    /// not counted, and the cell's details say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1_000.0))]
    pub max_cost: Option<f64>,
    /// Whether the value is an object with `value`, `confidence` and `sources`. They are always in the cell's details.
    #[serde(default)]
    pub include_sources: bool,
}

impl Default for Research {
    fn default() -> Self {
        Self {
            search_providers: Vec::new(),
            hosted_search: false,
            country: None,
            max_steps: steps_default(),
            max_calls: calls_default(),
            max_searches: searches_default(),
            max_input_tokens: input_tokens_default(),
            max_output_tokens: output_tokens_default(),
            max_seconds: seconds_default(),
            max_cost: None,
            include_sources: false,
        }
    }
}

/// What a research takes, or may take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ResearchUse {
    /// Answers of the model.
    pub steps: f64,
    pub searches: f64,
    pub input_tokens: f64,
    pub output_tokens: f64,
}

/// How a research usually goes: search, read a page, search again, answer.
const USUAL_STEPS: u32 = 4;
const USUAL_SEARCHES: u32 = 2;
/// The tokens of what a search and of what a page brings. Each later step sends them again.
const SEARCH_TOKENS: f64 = 800.0;
const PAGE_TOKENS: f64 = 2_500.0;
/// Instructions and tools, in tokens.
const AROUND_TOKENS: f64 = 600.0;
const STEP_OUTPUT_TOKENS: f64 = 150.0;

impl Research {
    /// At least: the model answers at once.
    pub fn least(&self, prompt_tokens: f64) -> ResearchUse {
        ResearchUse {
            steps: 1.0,
            searches: 0.0,
            input_tokens: prompt_tokens + AROUND_TOKENS,
            output_tokens: STEP_OUTPUT_TOKENS / 3.0,
        }
    }

    /// What a cell usually takes, within the limits.
    pub fn usual(&self, prompt_tokens: f64) -> ResearchUse {
        let steps = USUAL_STEPS.min(self.max_steps.max(1));
        let searches = USUAL_SEARCHES.min(self.searches_max()).min(steps - 1);
        let pages = u32::from(self.max_calls > searches && steps > searches + 1);
        let (steps, searches) = (f64::from(steps), f64::from(searches));
        let brought = searches * SEARCH_TOKENS + f64::from(pages) * PAGE_TOKENS;
        // What is brought comes bit by bit, and is sent with every step from then on.
        let sent = (prompt_tokens + AROUND_TOKENS) * steps + brought * steps / 2.0;
        ResearchUse {
            steps,
            searches,
            input_tokens: sent.min(self.max_input_tokens.into()),
            output_tokens: (STEP_OUTPUT_TOKENS * steps).min(self.max_output_tokens.into()),
        }
    }

    /// At most: every limit is used up.
    pub fn most(&self) -> ResearchUse {
        ResearchUse {
            steps: self.max_steps.into(),
            searches: self.searches_max().into(),
            input_tokens: self.max_input_tokens.into(),
            output_tokens: self.max_output_tokens.into(),
        }
    }

    fn searches_max(&self) -> u32 {
        self.max_searches.min(self.max_calls)
    }
}

fn steps_default() -> u32 {
    8
}

fn calls_default() -> u32 {
    12
}

fn searches_default() -> u32 {
    6
}

fn input_tokens_default() -> u32 {
    100_000
}

fn output_tokens_default() -> u32 {
    10_000
}

fn seconds_default() -> u32 {
    180
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_usual_keeps_to_the_limits() {
        let usual = Research::default().usual(100.0);
        assert_eq!((usual.steps, usual.searches), (4.0, 2.0));
        let most = Research::default().most();
        assert!(usual.input_tokens < most.input_tokens && usual.output_tokens < most.output_tokens);
        let least = Research::default().least(100.0);
        assert!(least.input_tokens < usual.input_tokens && least.output_tokens < usual.output_tokens);
        for (limits, steps, searches) in [
            (Research { max_steps: 1, ..Research::default() }, 1.0, 0.0),
            (Research { max_steps: 2, ..Research::default() }, 2.0, 1.0),
            (Research { max_searches: 1, ..Research::default() }, 4.0, 1.0),
            (Research { max_calls: 0, ..Research::default() }, 4.0, 0.0),
        ] {
            let usual = limits.usual(100.0);
            assert_eq!((usual.steps, usual.searches), (steps, searches), "{limits:?}");
        }
        let tight = Research { max_input_tokens: 1_000, ..Research::default() };
        assert!((tight.usual(100.0).input_tokens - 1_000.0).abs() < 1e-9);
    }
}
