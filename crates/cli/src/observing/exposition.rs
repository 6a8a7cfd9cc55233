//! The Prometheus text format.

use std::fmt::Write as _;

/// Labels and a value.
pub(super) type Sample<'a> = (Vec<(&'a str, &'a str)>, f64);

#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Counter,
    Gauge,
}

/// Text that grows metric by metric.
#[derive(Debug, Default)]
pub(super) struct Exposition(String);

impl Exposition {
    /// A metric with all its samples. One without any is named all the same, so that it can be looked for.
    pub(super) fn metric<'a>(
        &mut self,
        name: &str,
        kind: Kind,
        help: &str,
        samples: impl IntoIterator<Item = Sample<'a>>,
    ) {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
        };
        let text = &mut self.0;
        let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        for (labels, value) in samples {
            text.push_str(name);
            for (number, (label, value)) in labels.iter().enumerate() {
                let _ = write!(text, "{}{label}=\"{}\"", if number == 0 { '{' } else { ',' }, escaped(value));
            }
            if !labels.is_empty() {
                text.push('}');
            }
            let _ = writeln!(text, " {value}");
        }
        text.push('\n');
    }

    /// A gauge without labels.
    pub(super) fn one(&mut self, name: &str, help: &str, value: f64) {
        self.metric(name, Kind::Gauge, help, [(Vec::new(), value)]);
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}

#[expect(clippy::cast_precision_loss, reason = "a gauge need not be exact beyond 2^52")]
pub(super) fn number(number: u64) -> f64 {
    number as f64
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_written_with_their_labels() {
        let mut text = Exposition::default();
        text.metric("a_total", Kind::Counter, "As.", [(vec![("x", "1\"\\\n"), ("y", "2")], 3.0)]);
        text.one("b_bytes", "Bs.", 0.25);
        text.metric("c_cells", Kind::Gauge, "Cs.", []);
        let expected = "# HELP a_total As.\n# TYPE a_total counter\na_total{x=\"1\\\"\\\\\\n\",y=\"2\"} 3\n\n\
                        # HELP b_bytes Bs.\n# TYPE b_bytes gauge\nb_bytes 0.25\n\n\
                        # HELP c_cells Cs.\n# TYPE c_cells gauge\n\n";
        assert_eq!(text.finish(), expected);
    }
}
