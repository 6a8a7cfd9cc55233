//! The same questions asked of others, each in this process or one of its own, without HTTP.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use rusqlite::Connection;
use serde_json::Value;

use super::data::{self, Question};
use crate::any_result::AnyResult;
use crate::effort::Effort;
use crate::rates::milliseconds;

/// Milliseconds that others took for each kind of question, by who they are.
#[derive(Debug, Default)]
pub(super) struct Yardsticks {
    most: Vec<(&'static str, Vec<f64>)>,
    few: Vec<(&'static str, Vec<f64>)>,
}

impl Yardsticks {
    pub(super) fn measure(
        folder: &Path,
        rows: usize,
        python: Option<&Path>,
        effort: &Effort,
    ) -> AnyResult<Self> {
        let mut all = Self::default();
        let times = effort.rounds;
        let mut add = |name, (most, few): (Vec<f64>, Vec<f64>)| {
            all.most.push((name, most));
            all.few.push((name, few));
        };
        add("a bare sort of the same values in memory", bare(rows, times));
        let sqlite = Sqlite::fill(rows)?;
        add("SQLite, scanning", sqlite.ask(times)?);
        sqlite.0.execute_batch("CREATE INDEX by_name ON t (lower(name)); ANALYZE")?;
        add("SQLite with an index on lower(name)", sqlite.ask(times)?);
        drop(sqlite);
        if let Some(python) = python {
            add("DuckDB", duckdb(folder, rows, python, times)?);
        }
        Ok(all)
    }

    pub(super) fn of(&self, question: Question) -> &[(&'static str, Vec<f64>)] {
        match question {
            Question::Most(_) => &self.most,
            Question::Few(_) => &self.few,
        }
    }
}

/// The least that could be done without any index: fold nothing, compare bytes, keep the rows' numbers.
fn bare(rows: usize, times: usize) -> (Vec<f64>, Vec<f64>) {
    let table: Vec<[String; 4]> = (0..rows).map(data::row).collect();
    let ask = |is_wanted: &dyn Fn(&[String; 4]) -> bool| {
        let start = Instant::now();
        let mut found: Vec<(&str, usize)> = table
            .iter()
            .enumerate()
            .filter(|(_, row)| is_wanted(row))
            .map(|(number, [name, ..])| (name.as_str(), number))
            .collect();
        found.sort_unstable();
        std::hint::black_box(&found);
        milliseconds(start.elapsed())
    };
    let most = (1..=times).map(|number| {
        let city = Question::city(number);
        ask(&move |[.., other]| *other != city)
    });
    let few = (1..=times).map(|number| {
        let part = Question::part(number);
        ask(&move |[_, company, ..]| company.contains(&part))
    });
    (most.collect(), few.collect())
}

struct Sqlite(Connection);

impl Sqlite {
    fn fill(rows: usize) -> AnyResult<Self> {
        let mut connection = Connection::open_in_memory()?;
        connection.execute_batch(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, company TEXT, note TEXT, city TEXT)",
        )?;
        let transaction = connection.transaction()?;
        {
            let mut insert = transaction.prepare("INSERT INTO t VALUES (?1, ?2, ?3, ?4, ?5)")?;
            for index in 0..rows {
                let [name, company, note, city] = data::row(index);
                insert.execute((index, name, company, note, city))?;
            }
        }
        transaction.commit()?;
        Ok(Self(connection))
    }

    fn ask(&self, times: usize) -> AnyResult<(Vec<f64>, Vec<f64>)> {
        let most = (1..=times)
            .map(|number| self.page("lower(city) <> ?1", "asc", &Question::city(number).to_lowercase()));
        let few = (1..=times)
            .map(|number| self.page("instr(lower(company), ?1) > 0", "desc", &Question::part(number)));
        Ok((most.collect::<AnyResult<_>>()?, few.collect::<AnyResult<_>>()?))
    }

    /// A page with the total, which is what the service answers.
    fn page(&self, condition: &str, direction: &str, value: &str) -> AnyResult<f64> {
        let start = Instant::now();
        let count = format!("SELECT count(*) FROM t WHERE {condition}");
        let _: u64 = self.0.query_row(&count, [value], |row| row.get(0))?;
        let page =
            format!("SELECT * FROM t WHERE {condition} ORDER BY lower(name) {direction}, id LIMIT 100");
        let mut query = self.0.prepare(&page)?;
        let mut rows = query.query([value])?;
        let mut seen = 0;
        while rows.next()?.is_some() {
            seen += 1;
        }
        std::hint::black_box(seen);
        Ok(milliseconds(start.elapsed()))
    }
}

const SCRIPT: &str = include_str!("duckdb.py");

fn duckdb(folder: &Path, rows: usize, python: &Path, times: usize) -> AnyResult<(Vec<f64>, Vec<f64>)> {
    let (script, table) = (folder.join("yardstick.py"), folder.join("table.csv"));
    std::fs::write(&script, SCRIPT)?;
    let mut text = String::from("id,name,company,note,city\n");
    for index in 0..rows {
        writeln!(text, "{index},{}", data::row(index).join(","))?;
    }
    std::fs::write(&table, text)?;
    let numbers = |word: fn(usize) -> String| (1..=times).map(word).collect::<Vec<_>>().join(",");
    let output = Command::new(python)
        .arg(&script)
        .arg(&table)
        .arg(numbers(|number| Question::city(number).to_lowercase()))
        .arg(numbers(Question::part))
        .output()?;
    if !output.status.success() {
        return Err(format!("DuckDB: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let answer: Value = serde_json::from_slice(&output.stdout)?;
    let list = |name: &str| -> Vec<f64> {
        let list = answer.get(name).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_f64).collect()
    };
    std::fs::remove_file(&table)?;
    Ok((list("most"), list("few")))
}
