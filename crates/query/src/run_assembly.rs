//! Runs of rows that several readers read, put one behind the other as they come: what was read a moment ago is still in the
//! processor's cache, and its memory serves the next run.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use crate::column::{Column, ColumnKey};
use crate::values::Full;

/// Neighbouring rows.
#[derive(Debug, Default)]
pub(crate) struct RowRun {
    pub(crate) positions: Vec<u32>,
    /// By name.
    pub(crate) columns: Vec<Column>,
}

/// The runs of a scan, which end as one.
#[derive(Debug)]
pub(crate) struct RunAssembly {
    names: Vec<ColumnKey>,
    runs: usize,
    /// No more than this is set aside in advance.
    bytes_max: usize,
    state: Mutex<Assembled>,
}

#[derive(Debug, Default)]
struct Assembled {
    /// All runs before this one.
    whole: RowRun,
    next: usize,
    /// Runs that came before their turn.
    early: BTreeMap<usize, RowRun>,
    /// Runs that are in the whole, for others to be read into.
    spare: Vec<RowRun>,
}

impl RunAssembly {
    pub(crate) fn new(names: &[ColumnKey], runs: usize, bytes_max: usize) -> Self {
        Self { names: names.to_vec(), runs, bytes_max, state: Mutex::default() }
    }

    /// A run to read rows into.
    pub(crate) fn empty_run(&self) -> RowRun {
        let spare = self.state.lock().spare.pop();
        spare.unwrap_or_else(|| RowRun {
            positions: Vec::new(),
            columns: self.names.iter().map(Column::new).collect(),
        })
    }

    /// Takes in the run with this number.
    pub(crate) fn put(&self, number: usize, run: RowRun) -> Result<(), Full> {
        let mut state = self.state.lock();
        let Assembled { whole, next, early, spare } = &mut *state;
        early.insert(number, run);
        while let Some(mut run) = early.remove(next) {
            if *next == 0 {
                *whole = run;
            } else {
                whole.append(&run, self.runs - *next, self.bytes_max)?;
                run.clear();
                spare.push(run);
            }
            *next += 1;
        }
        Ok(())
    }

    /// All rows.
    pub(crate) fn whole(self) -> RowRun {
        self.state.into_inner().whole
    }
}

impl RowRun {
    /// Adds the rows of another run. So many like it will come, with it, for which no more than so many bytes are set aside.
    fn append(&mut self, run: &Self, runs: usize, bytes_max: usize) -> Result<(), Full> {
        if self.positions.capacity() - self.positions.len() < run.positions.len() {
            self.positions.reserve_exact((run.positions.len() * runs).min(bytes_max / size_of::<u32>()));
        }
        self.positions.extend_from_slice(&run.positions);
        self.columns.iter_mut().zip(&run.columns).try_for_each(|(column, part)| {
            column.make_room(part, runs, bytes_max);
            column.append(part)
        })
    }

    fn clear(&mut self) {
        self.positions.clear();
        self.columns.iter_mut().for_each(Column::clear);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows with these texts, read into an empty run.
    fn read(assembly: &RunAssembly, first: u32, texts: &[String]) -> RowRun {
        let mut run = assembly.empty_run();
        for (position, text) in (first..).zip(texts) {
            run.positions.push(position);
            if let [Column::Values(column), Column::States(_)] = run.columns.as_mut_slice() {
                column.push(text).unwrap();
            }
            if let Some(states) = run.columns.last_mut() {
                states.grow(1).unwrap();
            }
        }
        run
    }

    #[test]
    fn runs_end_as_one_in_whatever_order_they_come() {
        const ROWS: u32 = 40;
        let names =
            [ColumnKey::Value { slot: 1, paths: Vec::new(), typed: None }, ColumnKey::State { slot: 2 }];
        // Runs of texts of their own, and of texts that repeat, in either order.
        let kinds = [[true, true, true, true], [false, false, true, true], [true, false, true, false]];
        for (is_distinct, order) in kinds.iter().flat_map(|kinds| {
            [[0_u32, 1, 2, 3], [3, 2, 1, 0], [1, 0, 3, 2]].into_iter().map(move |order| (kinds, order))
        }) {
            let texts = |number: u32| -> Vec<String> {
                let is_distinct = is_distinct.get(number as usize).copied().unwrap_or_default();
                let text = |row: u32| if is_distinct { number * ROWS + row } else { row % 2 };
                (0..ROWS).map(|row| format!("\"{}\"", text(row))).collect()
            };
            let assembly = RunAssembly::new(&names, 4, 100);
            for number in order {
                assembly.put(number as usize, read(&assembly, number * ROWS, &texts(number))).unwrap();
            }
            let RowRun { positions, columns } = assembly.whole();
            assert_eq!(positions, (0..4 * ROWS).collect::<Vec<_>>());
            let expected: Vec<String> = (0..4).flat_map(texts).collect();
            let [Column::Values(values), Column::States(states)] = columns.as_slice() else {
                panic!("other columns than were asked for");
            };
            let found: Vec<&str> = (0..expected.len()).map(|row| values.raw(row)).collect();
            assert_eq!(
                (found, states.len()),
                (expected.iter().map(String::as_str).collect(), expected.len())
            );
        }
    }
}
