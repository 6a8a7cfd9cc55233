//! How figures grow with the number of rows.

use std::io::Write;

use crate::any_result::AnyResult;

/// Figures of tables of different sizes.
#[derive(Debug, Default)]
pub(crate) struct Growth(Vec<Line>);

#[derive(Debug)]
struct Line {
    store: &'static str,
    what: String,
    unit: String,
    /// The number of rows, the figure, and the figure as it is printed.
    sizes: Vec<(usize, f64, String)>,
}

impl Growth {
    pub(crate) fn note(
        &mut self,
        (store, what, unit): (&'static str, &str, &str),
        rows: usize,
        figure: f64,
        shown: String,
    ) {
        let is_same = |line: &&mut Line| line.store == store && line.what == what && line.unit == unit;
        match self.0.iter_mut().find(is_same) {
            Some(line) => line.sizes.push((rows, figure, shown)),
            None => self.0.push(Line {
                store,
                what: what.to_owned(),
                unit: unit.to_owned(),
                sizes: vec![(rows, figure, shown)],
            }),
        }
    }

    /// A table of all that was measured at several sizes. The exponent is that of the cost: 0 does not depend on the number of
    /// rows, 1 grows as they do.
    pub(crate) fn print(&self, out: &mut impl Write, number: impl Fn(usize) -> String) -> AnyResult {
        let mut sizes: Vec<usize> =
            self.0.iter().flat_map(|line| &line.sizes).map(|size| size.0).filter(|rows| *rows > 0).collect();
        sizes.sort_unstable();
        sizes.dedup();
        if sizes.len() < 2 {
            return Ok(());
        }
        let heads: Vec<String> = sizes.iter().map(|rows| format!("{} rows", number(*rows))).collect();
        writeln!(out, "\n| store | what | {} | exponent |", heads.join(" | "))?;
        writeln!(out, "|---|---|{}---:|", "---:|".repeat(sizes.len()))?;
        for line in &self.0 {
            let Some(exponent) = line.exponent() else { continue };
            let figures = sizes.iter().map(|rows| {
                let size = line.sizes.iter().find(|size| size.0 == *rows);
                size.map_or("", |(_, _, shown)| shown.as_str())
            });
            let figures: Vec<&str> = figures.collect();
            writeln!(out, "| {} | {} | {} | {exponent:.2} |", line.store, line.what, figures.join(" | "))?;
        }
        Ok(())
    }
}

impl Line {
    /// The slope of the cost over the number of rows, both as logarithms (least squares).
    fn exponent(&self) -> Option<f64> {
        let is_rate = self.unit.ends_with("/s");
        let points: Vec<(f64, f64)> = self
            .sizes
            .iter()
            .filter(|(rows, figure, _)| *rows > 0 && *figure > 0.0)
            .map(|(rows, figure, _)| (logarithm(*rows), if is_rate { -figure.ln() } else { figure.ln() }))
            .collect();
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count(points.len());
        let (x, y) = (mean(|point| point.0), mean(|point| point.1));
        let spread: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
        let slope: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
        (points.len() > 1 && spread > 0.0).then(|| slope / spread)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a count of rows")]
fn count(number: usize) -> f64 {
    number as f64
}

fn logarithm(rows: usize) -> f64 {
    count(rows).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponent_is_that_of_the_cost() {
        let mut growth = Growth::default();
        for (rows, time, rate) in [(10_000, 2.0, 500.0), (100_000, 20.0, 500.0), (1_000_000, 200.0, 500.0)] {
            growth.note(("SQLite", "a scan", "ms"), rows, time, format!("{time} ms"));
            growth.note(("SQLite", "a page", "requests/s"), rows, rate, format!("{rate}/s"));
            growth.note(("SQLite", "an index", "rows/s"), rows, rate / time, String::new());
        }
        growth.note(("SQLite", "once", "ms"), 10_000, 1.0, String::new());
        let exponents: Vec<Option<String>> = growth
            .0
            .iter()
            .map(|line| line.exponent().map(|exponent| format!("{:.2}", exponent + 0.0001)))
            .collect();
        assert_eq!(exponents, [Some("1.00".into()), Some("0.00".into()), Some("1.00".into()), None]);
        let mut printed = Vec::new();
        growth.print(&mut printed, |rows| rows.to_string()).unwrap();
        let printed = String::from_utf8(printed).unwrap();
        assert!(printed.contains("| SQLite | a scan | 2 ms | 20 ms | 200 ms | 1.00 |"), "{printed}");
        assert!(!printed.contains("once"), "{printed}");
    }
}
