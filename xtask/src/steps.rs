//! `cargo xtask test`: every check and test there is, in order, with a table at the end.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use crate::process::{AnyResult, cargo, run};
use crate::{
    browser, clients, dist, document, examples, mcp, peers, proxies, schemathesis, supply_chain, tidy, tools,
};

/// Read by the crash test in crates/cli/tests.
const CRASH_ROUNDS_VARIABLE: &str = "ROWMILL_TEST_CRASH_ROUNDS";
/// Read by the scenarios of faults, for how much of everything they use.
const FAULTS_VARIABLE: &str = "ROWMILL_TEST_FAULTS";
/// What the names of scenarios begin with in which strangers, neighbours or the machine do harm. Each is part of the step
/// `unit`, too, in its small form.
const FAULTS: &[&str] = &[
    "connections::",
    "exhaustion::",
    "large_rows::",
    "neighbours::",
    "power_cuts::",
    "scraping::",
    "streams::",
    "writers::",
];
/// Names the folder of PostgreSQL's programs.
const POSTGRES_VARIABLE: &str = "ROWMILL_TEST_POSTGRES";

struct Step {
    name: &'static str,
    what: &'static str,
    run: fn(&Options) -> AnyResult,
}

const STEPS: &[Step] = &[
    Step { name: "fmt", what: "the code is formatted", run: |_| fmt() },
    Step { name: "clippy", what: "no lint complains", run: |_| clippy() },
    Step { name: "tidy", what: "the rules a compiler does not know", run: |_| tidy::run() },
    Step {
        name: "supply-chain",
        what: "licences, bans, sources and notices",
        run: |_| supply_chain::check(),
    },
    Step { name: "unit", what: "every test of the workspace", run: unit },
    Step {
        name: "faults",
        what: "strangers and neighbours do no harm (small in unit, large with --large)",
        run: faults,
    },
    Step { name: "document", what: "openapi.json is current, valid and clean", run: |_| document::check() },
    Step { name: "schemathesis", what: "the service keeps its document", run: |_| schemathesis::run() },
    Step { name: "clients", what: "generated clients work", run: |_| clients::test() },
    Step { name: "examples", what: "the examples of the guides run", run: |_| examples::run_all() },
    Step { name: "peers", what: "AI columns against servers that others wrote", run: |_| peers::run() },
    Step {
        name: "proxies",
        what: "the example configurations of nginx, Caddy and HAProxy",
        run: |_| proxies::run(),
    },
    Step {
        name: "mcp",
        what: "agents: the official conformance suite and the inspector",
        run: |_| mcp::run(),
    },
    Step { name: "browser", what: "the web application in a real browser", run: |_| browser::test() },
    Step {
        name: "package",
        what: "container files, and a release: its Debian package installed, upgraded and removed",
        run: |options| dist::test(options.large),
    },
];

pub(crate) fn test(arguments: &[String]) -> AnyResult {
    let options = Options::parse(arguments)?;
    let chosen: Vec<&Step> = STEPS.iter().filter(|step| options.wants(step.name)).collect();
    let results = run_all(&chosen, &options);
    print!("\n{}", summary(&results));
    let failed: Vec<&str> =
        results.iter().filter(|result| result.failed()).map(|result| result.name).collect();
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", ")).into()) }
}

#[derive(Debug, Default, PartialEq)]
struct Options {
    keep_going: bool,
    /// Faults in their large form, and the package looked at by lintian.
    large: bool,
    crash_rounds: Option<u32>,
    /// Empty means all.
    steps: Vec<String>,
}

impl Options {
    fn parse(arguments: &[String]) -> AnyResult<Self> {
        let mut options = Self::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.as_str() {
                "--keep-going" => options.keep_going = true,
                "--large" => options.large = true,
                "--rounds" => {
                    let rounds = rest.next().ok_or("--rounds needs a number")?;
                    options.crash_rounds =
                        Some(rounds.parse().map_err(|_| format!("--rounds {rounds}: not a number"))?);
                }
                name if STEPS.iter().any(|step| step.name == name) => options.steps.push(name.to_owned()),
                other => {
                    let names: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
                    return Err(format!("{other}: not a step; there are {}", names.join(", ")).into());
                }
            }
        }
        Ok(options)
    }

    /// The small form of faults is part of `unit`: it is run apart only if it is named.
    fn wants(&self, name: &str) -> bool {
        let is_named = self.steps.iter().any(|step| step == name);
        is_named || self.steps.is_empty() && (name != "faults" || self.large)
    }
}

struct StepResult {
    name: &'static str,
    /// None: not reached.
    ended: Option<(AnyResult, Duration)>,
}

impl StepResult {
    fn failed(&self) -> bool {
        matches!(self.ended, Some((Err(_), _)))
    }
}

fn run_all(steps: &[&Step], options: &Options) -> Vec<StepResult> {
    let mut results: Vec<StepResult> = Vec::new();
    for step in steps {
        if !options.keep_going && results.iter().any(StepResult::failed) {
            results.push(StepResult { name: step.name, ended: None });
            continue;
        }
        println!("\n=== {}: {}", step.name, step.what);
        let started = Instant::now();
        let outcome = (step.run)(options);
        let elapsed = started.elapsed();
        match &outcome {
            Ok(()) => println!("=== {}: ok, {}", step.name, seconds(elapsed)),
            Err(failure) => println!("=== {}: FAILED, {}: {failure}", step.name, seconds(elapsed)),
        }
        results.push(StepResult { name: step.name, ended: Some((outcome, elapsed)) });
    }
    results
}

fn summary(results: &[StepResult]) -> String {
    let mut lines = format!("{:<14} {:<8} {:>9}\n", "step", "result", "time");
    let mut total = Duration::ZERO;
    for StepResult { name, ended } in results {
        let (word, time) = match ended {
            Some((outcome, elapsed)) => {
                total += *elapsed;
                (if outcome.is_ok() { "ok" } else { "FAILED" }, seconds(*elapsed))
            }
            None => ("not run", String::new()),
        };
        lines.push_str(format!("{name:<14} {word:<8} {time:>9}").trim_end());
        lines.push('\n');
    }
    let _ = writeln!(lines, "{:<14} {:<8} {:>9}", "all", "", seconds(total));
    lines
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

fn fmt() -> AnyResult {
    run(cargo().args(["fmt", "--all", "--check"]))
}

fn clippy() -> AnyResult {
    run(cargo().args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
}

fn unit(options: &Options) -> AnyResult {
    let mut command = tests()?;
    command.arg("--workspace");
    if let Some(rounds) = options.crash_rounds {
        command.env(CRASH_ROUNDS_VARIABLE, rounds.to_string());
    }
    run(&mut command)
}

/// The scenarios of faults alone.
fn faults(options: &Options) -> AnyResult {
    let mut command = tests()?;
    command.args(["--package", "rowmill", "--test", "suite", "--"]).args(FAULTS);
    if options.large {
        command.env(FAULTS_VARIABLE, "large");
    }
    run(&mut command)
}

/// `cargo test`, with PostgreSQL where it is found.
fn tests() -> AnyResult<std::process::Command> {
    let mut command = cargo();
    command.arg("test");
    if std::env::var_os(POSTGRES_VARIABLE).is_none()
        && let Some(programs) = tools::postgres()?
    {
        command.env(POSTGRES_VARIABLE, programs);
    }
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: Step = Step { name: "good", what: "passes", run: |_| Ok(()) };
    const BAD: Step = Step { name: "bad", what: "fails", run: |_| Err("no".into()) };

    fn parse(line: &str) -> Option<Options> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Options::parse(&arguments).ok()
    }

    fn words(keep_going: bool) -> Vec<&'static str> {
        let options = Options { keep_going, ..Options::default() };
        let results = run_all(&[&GOOD, &BAD, &GOOD], &options);
        let word = |result: &StepResult| match &result.ended {
            Some((Ok(()), _)) => "ok",
            Some((Err(_), _)) => "failed",
            None => "not run",
        };
        results.iter().map(word).collect()
    }

    #[test]
    fn stops_at_the_first_failure_unless_told_to_go_on() {
        assert_eq!(words(false), ["ok", "failed", "not run"]);
        assert_eq!(words(true), ["ok", "failed", "ok"]);
    }

    #[test]
    fn arguments() {
        assert_eq!(parse(""), Some(Options::default()));
        let all = parse("tidy --rounds 200 fmt --keep-going").unwrap();
        assert_eq!(
            all,
            Options {
                keep_going: true,
                crash_rounds: Some(200),
                steps: vec!["tidy".into(), "fmt".into()],
                ..Options::default()
            }
        );
        assert!(all.wants("fmt") && !all.wants("unit"));
        let (plain, large) = (parse("").unwrap(), parse("--large").unwrap());
        assert!(plain.wants("unit") && !plain.wants("faults") && large.wants("faults"));
        assert!(parse("faults").unwrap().wants("faults") && !parse("faults").unwrap().wants("unit"));
        for wrong in ["tiddy", "--rounds", "--rounds many", "--keep"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_table_shows_every_step() {
        let results = [
            StepResult { name: "fmt", ended: Some((Ok(()), Duration::from_millis(1240))) },
            StepResult { name: "unit", ended: Some((Err("no".into()), Duration::from_secs(100))) },
            StepResult { name: "document", ended: None },
        ];
        let expected = "\
step           result        time
fmt            ok           1.2 s
unit           FAILED     100.0 s
document       not run
all                       101.2 s
";
        assert_eq!(summary(&results), expected);
    }
}
