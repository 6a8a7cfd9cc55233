//! What the API sends, as far as the commands look at it.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The members of an object, in their order.
#[derive(Debug)]
pub(crate) struct Ordered<T>(pub(crate) Vec<(String, T)>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Ordered<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
            type Value = Ordered<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Ordered(members))
            }
        }

        deserializer.deserialize_map(Members(PhantomData))
    }
}

/// A row with its cells by header.
#[derive(Debug, Deserialize)]
pub(crate) struct Row<T> {
    pub(crate) id: String,
    pub(crate) cells: Ordered<T>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Cell {
    pub(crate) value: Box<RawValue>,
    pub(crate) status: String,
    pub(crate) error: Option<CellError>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct CellError {
    pub(crate) code: String,
    pub(crate) message: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Column {
    pub(crate) id: String,
    pub(crate) header: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    #[serde(rename = "dataShape")]
    pub(crate) data_shape: String,
}

/// A run, or what `status` says of one.
#[derive(Debug, Deserialize)]
pub(crate) struct Run {
    pub(crate) cells: u64,
    pub(crate) done: u64,
    pub(crate) empty: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
    pub(crate) stopped: u64,
    pub(crate) cost: Option<f64>,
    /// By the price list, where providers said nothing.
    #[serde(rename = "listCost")]
    pub(crate) list_cost: Option<f64>,
    pub(crate) credits: Option<f64>,
    /// `status` alone says it.
    #[serde(default)]
    pub(crate) waiting: Option<Waiting>,
    /// The run itself says it.
    #[serde(default)]
    pub(crate) failures: Vec<CauseCount>,
}

/// How many cells of a run ended with a code.
#[derive(Debug, Deserialize)]
pub(crate) struct CauseCount {
    pub(crate) code: String,
    pub(crate) cells: u64,
}

/// What the cells of a run wait for.
#[derive(Debug, Deserialize)]
pub(crate) struct Waiting {
    pub(crate) reason: CellError,
    pub(crate) until: String,
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Waiting until {}: {}", self.until, self.reason.message)
    }
}

impl Run {
    pub(crate) fn ended(&self) -> u64 {
        self.done + self.empty + self.failed + self.skipped + self.stopped
    }

    /// What it cost, as far as that is known.
    pub(crate) fn price(&self) -> Option<String> {
        let cost = match (self.cost, self.list_cost) {
            (None, None) => None,
            (told, listed) => Some(format!("${:.4}", told.unwrap_or_default() + listed.unwrap_or_default())),
        };
        let credits = self.credits.map(|credits| format!("{credits} credits"));
        let parts: Vec<String> = cost.into_iter().chain(credits).collect();
        (!parts.is_empty()).then(|| parts.join(" and "))
    }
}

/// What a run is likely to take.
#[derive(Debug, Deserialize)]
pub(crate) struct Estimate {
    cells: u64,
    usd: Option<Dollars>,
    seconds: u64,
    #[serde(default)]
    basis: Vec<Basis>,
}

/// What an estimate says of one column.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Basis {
    header: String,
    #[serde(default)]
    missing_credential: Option<String>,
    #[serde(default)]
    disabled: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Dollars {
    low: f64,
    likely: f64,
    high: f64,
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cells, usd, seconds, basis } = self;
        write!(f, "Estimate: {cells} cells, about {seconds} s, ")?;
        match usd {
            Some(Dollars { low, likely, high }) => write!(f, "${likely:.4} (${low:.4} to ${high:.4})"),
            None => write!(f, "cost unknown"),
        }?;
        for Basis { header, missing_credential, disabled } in basis {
            if let Some(words) = disabled.as_ref().or(missing_credential.as_ref()) {
                write!(f, "\n{header}: {words}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { done, empty, failed, skipped, stopped, .. } = self;
        write!(f, "{done} done, {empty} empty, {failed} failed, {skipped} skipped, {stopped} stopped")?;
        match self.price() {
            Some(price) => write!(f, ", cost {price}"),
            None => Ok(()),
        }
    }
}
