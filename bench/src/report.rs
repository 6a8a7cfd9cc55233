//! The one table.

use std::collections::HashMap;
use std::io::Write as _;

use crate::any_result::AnyResult;
use crate::growth::Growth;
use crate::store::Kind;
use crate::{postgres, raw};

/// What a ratio, or a figure without a raw limit, should reach.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Goal {
    AtLeast(f64),
    AtMost(f64),
}

impl Goal {
    fn is_met(self, figure: f64) -> bool {
        match self {
            Self::AtLeast(least) => figure >= least,
            Self::AtMost(most) => figure <= most,
        }
    }
}

/// Figures of neighbouring runs: measured, and the raw limit.
#[derive(Debug, Default)]
pub(crate) struct Pairs(Vec<(f64, f64)>);

impl Pairs {
    pub(crate) fn of(measured: Vec<f64>, limits: Vec<f64>) -> Self {
        Self(measured.into_iter().zip(limits).collect())
    }

    pub(crate) fn push(&mut self, measured: f64, limit: f64) {
        self.0.push((measured, limit));
    }

    pub(crate) fn measured(&self) -> Vec<f64> {
        self.0.iter().map(|pair| pair.0).collect()
    }

    fn medians(&self) -> (f64, f64, f64) {
        let measured = median(self.0.iter().map(|pair| pair.0));
        let limit = median(self.0.iter().map(|pair| pair.1));
        (measured, limit, median(self.0.iter().map(|pair| pair.0 / pair.1)))
    }
}

#[derive(Debug, Default)]
pub(crate) struct Report {
    rows: usize,
    store: Option<Kind>,
    row_bytes: usize,
    /// What SQLite was measured at, by the number of rows and what it was.
    of_sqlite: HashMap<(usize, String), Vec<f64>>,
    about_postgres: Option<String>,
    growth: Growth,
    lines: Vec<[String; COLUMNS]>,
}

const COLUMNS: usize = 8;

impl Report {
    /// What follows is about tables of this many rows.
    pub(crate) fn rows(&mut self, rows: usize) {
        self.rows = rows;
    }

    /// What follows is about this store.
    pub(crate) fn store(&mut self, store: Kind) {
        self.store = Some(store);
    }

    pub(crate) fn about_postgres(&mut self, about: &str) {
        self.about_postgres = Some(about.to_owned());
    }

    pub(crate) fn row_bytes(&mut self, bytes: usize) {
        self.row_bytes = bytes;
    }

    /// A line beside its raw limit.
    pub(crate) fn pair(&mut self, what: &str, unit: &str, pairs: &Pairs, goal: Option<Goal>) {
        let (measured, limit, ratio) = pairs.medians();
        self.note_growth(what, measured, unit);
        let (measured, limit) = (figure(measured, unit), figure(limit, unit));
        let (ratio_word, goal_word) = match goal {
            Some(Goal::AtMost(most)) => (format!("{ratio:.2}"), format!("≤ {most}")),
            Some(Goal::AtLeast(least)) => (percent(ratio), format!("≥ {}", percent(least))),
            None => (percent(ratio), String::new()),
        };
        let verdict = goal.map(|goal| goal.is_met(ratio));
        self.add(what, measured, limit, ratio_word, goal_word, verdict);
    }

    /// Keeps what SQLite was measured at, or sets PostgreSQL beside it.
    pub(crate) fn beside_sqlite(&mut self, what: &str, unit: &str, pairs: &Pairs, goal: Goal) {
        let key = (self.rows, what.to_owned());
        match self.store {
            Some(Kind::Postgres) => {
                if let Some(others) = self.of_sqlite.get(&key) {
                    let pairs = Pairs::of(pairs.measured(), others.clone());
                    self.pair(&format!("{what}: beside SQLite"), unit, &pairs, Some(goal));
                }
            }
            _ => drop(self.of_sqlite.insert(key, pairs.measured())),
        }
    }

    /// A line that stands alone.
    pub(crate) fn single(&mut self, what: &str, figures: &[f64], unit: &str, goal: Option<Goal>) {
        let middle = median(figures.iter().copied());
        self.note_growth(what, middle, unit);
        let goal_word = match goal {
            Some(Goal::AtMost(most)) => format!("< {most} {unit}"),
            Some(Goal::AtLeast(least)) => format!("≥ {least} {unit}"),
            None => String::new(),
        };
        let verdict = goal.map(|goal| goal.is_met(middle));
        self.add(what, figure(middle, unit), String::new(), String::new(), goal_word, verdict);
    }

    fn note_growth(&mut self, what: &str, measured: f64, unit: &str) {
        let store = self.store.map_or("", Kind::name);
        self.growth.note((store, what, unit), self.rows, measured, figure(measured, unit));
    }

    /// A line of words.
    pub(crate) fn line(&mut self, what: &str, measured: &str, limit: &str) {
        self.add(what, measured.to_owned(), limit.to_owned(), String::new(), String::new(), None);
    }

    fn add(
        &mut self,
        what: &str,
        measured: String,
        limit: String,
        ratio: String,
        goal: String,
        met: Option<bool>,
    ) {
        let verdict = match met {
            Some(true) => "met",
            Some(false) => "MISSED",
            None => "",
        };
        let store = self.store.map_or("", Kind::name).to_owned();
        let rows = thousands(self.rows);
        let line = [rows, store, what.to_owned(), measured, limit, ratio, goal, verdict.to_owned()];
        eprintln!(
            "  {}",
            line.iter().skip(1).filter(|word| !word.is_empty()).cloned().collect::<Vec<_>>().join(" | ")
        );
        self.lines.push(line);
    }

    pub(crate) fn print(&self) -> AnyResult {
        let head = ["rows", "store", "what", "Rowmill", "raw limit", "ratio", "goal", ""].map(str::to_owned);
        let mut widths = [0; COLUMNS];
        for line in self.lines.iter().chain([&head]) {
            for (width, word) in widths.iter_mut().zip(line) {
                *width = word.chars().count().max(*width);
            }
        }
        let mut out = std::io::stdout().lock();
        let mut print = |line: &[String; COLUMNS]| {
            let cells = line.iter().zip(widths).enumerate().map(|(column, (word, width))| match column {
                // Figures end where they are compared.
                0 | 3 | 4 | 5 => format!("{word:>width$}"),
                _ => format!("{word:<width$}"),
            });
            writeln!(out, "| {} |", cells.collect::<Vec<_>>().join(" | "))
        };
        print(&head)?;
        print(&widths.map(|width| "-".repeat(width.max(3))))?;
        self.lines.iter().try_for_each(print)?;
        self.growth.print(&mut out, thousands)?;
        let pragmas: Vec<String> =
            raw::PRAGMAS.iter().map(|(name, value)| format!("{name}={value}")).collect();
        writeln!(out)?;
        if self.row_bytes > 0 {
            writeln!(out, "Rows: ten short text columns, {} bytes of JSON each.", self.row_bytes)?;
        }
        writeln!(
            out,
            "Raw inserts, SQLite: bare rusqlite, one thread, one transaction a call, a prepared statement;"
        )?;
        writeln!(
            out,
            "  {}; {}, plans not remade (QPSG); the row's JSON as it is sent.",
            raw::SCHEMA,
            pragmas.join(", ")
        )?;
        writeln!(out, "Raw cells, SQLite: the same table, one transaction a batch, for each cell")?;
        writeln!(out, "  {}.", raw::UPDATE)?;
        if let Some(about) = &self.about_postgres {
            writeln!(out, "{about}: for all who are measured on it.")?;
            writeln!(
                out,
                "Raw inserts, PostgreSQL: one connection, one statement a call, rows packed before, a"
            )?;
            writeln!(
                out,
                "  table with the same columns, primary key and unique index; {}.",
                postgres::raw::COPY
            )?;
            writeln!(out, "Raw cells, PostgreSQL: one connection, one statement a batch,")?;
            writeln!(out, "  {}.", postgres::raw::UPDATE)?;
        }
        writeln!(
            out,
            "Raw pages: an axum handler that returns the same bytes, a process of its own, the same client."
        )?;
        writeln!(out, "Figures are medians; a ratio is the median of the ratios of neighbouring runs.")?;
        Ok(())
    }
}

/// The one in the middle.
pub(crate) fn median(figures: impl IntoIterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.into_iter().collect();
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or_default()
}

/// 1234567 as 1,234,567.
pub(crate) fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn figure(figure: f64, unit: &str) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count, shown whole")]
    let whole = figure.round() as usize;
    if figure < 100.0 { format!("{figure:.2} {unit}") } else { format!("{} {unit}", thousands(whole)) }
}

fn percent(ratio: f64) -> String {
    format!("{:.0} %", ratio * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_easy_to_read() {
        assert_eq!(thousands(7), "7");
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(figure(0.456, "ms"), "0.46 ms");
        assert_eq!(figure(123_456.7, "rows/s"), "123,457 rows/s");
        assert_eq!(percent(0.514), "51 %");
    }

    #[test]
    fn a_ratio_is_that_of_neighbours() {
        let pairs = Pairs::of(vec![1.0, 10.0, 4.0], vec![2.0, 20.0, 8.0]);
        assert_eq!(pairs.medians(), (4.0, 8.0, 0.5));
    }
}
