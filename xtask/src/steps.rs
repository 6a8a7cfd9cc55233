//! `cargo xtask test`: every check and test there is, with a table at the end.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::process::{AnyResult, cargo, program, run};
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

/// Which steps may run at the same time. Neighbours in the list that are not `Alone` form a group: its lanes run side by
/// side, the steps of one lane in order.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Lane {
    /// Uses every core, or measures time.
    Alone,
    /// Waits for programs that call the service.
    Wire,
    /// Waits for a browser.
    Browser,
}

struct Step {
    name: &'static str,
    what: &'static str,
    lane: Lane,
    run: Run,
}

const STEPS: &[Step] = &[
    alone("fmt", "the code is formatted", |_| fmt()),
    alone("clippy", "no lint complains", |_| clippy()),
    alone("tidy", "the rules a compiler does not know", |_| tidy::run()),
    alone("supply-chain", "licences, bans, sources and notices", |_| supply_chain::check()),
    alone("unit", "every test of the workspace", unit),
    alone("faults", "strangers and neighbours do no harm (small in unit, large with --large)", faults),
    wire("document", "openapi.json is current, valid and clean", |_| document::check()),
    wire("schemathesis", "the service keeps its document", |_| schemathesis::run()),
    wire("clients", "generated clients work", |_| clients::test()),
    wire("examples", "the examples of the guides run", |_| examples::run_all()),
    wire("peers", "AI columns against servers that others wrote", |_| peers::run()),
    wire("mcp", "agents: the official conformance suite and the inspector", |_| mcp::run()),
    browser("browser", "the web application in a real browser", |_| browser::test()),
    browser("proxies", "the example configurations of nginx, Caddy and HAProxy", |_| proxies::run()),
    browser(
        "package",
        "container files, alert rules, and a release: its package installed, upgraded and removed",
        |options| dist::test(options.large),
    ),
];

type Run = fn(&Options) -> AnyResult;

const fn alone(name: &'static str, what: &'static str, run: Run) -> Step {
    Step { name, what, lane: Lane::Alone, run }
}

const fn wire(name: &'static str, what: &'static str, run: Run) -> Step {
    Step { name, what, lane: Lane::Wire, run }
}

const fn browser(name: &'static str, what: &'static str, run: Run) -> Step {
    Step { name, what, lane: Lane::Browser, run }
}

pub(crate) fn test(arguments: &[String]) -> AnyResult {
    let options = Options::parse(arguments)?;
    let chosen: Vec<&Step> = STEPS.iter().filter(|step| options.wants(step.name)).collect();
    let started = Instant::now();
    let results = run_all(&chosen, &options);
    if results.len() > 1 {
        print!("\n{}", summary(&results, started.elapsed()));
    }
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
    ended: Option<(Result<(), String>, Duration)>,
}

impl StepResult {
    fn failed(&self) -> bool {
        matches!(self.ended, Some((Err(_), _)))
    }
}

fn run_all(steps: &[&Step], options: &Options) -> Vec<StepResult> {
    let mut results: Vec<StepResult> = Vec::new();
    for group in steps.chunk_by(|one, next| one.lane != Lane::Alone && next.lane != Lane::Alone) {
        let is_stopped = !options.keep_going && results.iter().any(StepResult::failed);
        let stopped = AtomicBool::new(is_stopped);
        match lanes(group).as_slice() {
            [_] => results.extend(group.iter().map(|step| run_step(step, options, &stopped, Step::run_here))),
            several => results.extend(side_by_side(group, several, options, &stopped)),
        }
    }
    results
}

/// The lanes of a group, each with its steps in order.
fn lanes<'a>(group: &[&'a Step]) -> Vec<Vec<&'a Step>> {
    let mut lanes: Vec<Vec<&Step>> = Vec::new();
    for &step in group {
        match lanes.iter_mut().find(|lane| lane.iter().any(|other| other.lane == step.lane)) {
            Some(lane) => lane.push(step),
            None => lanes.push(vec![step]),
        }
    }
    lanes
}

/// One thread for each lane. The results stand in the order of the list.
fn side_by_side(
    group: &[&Step],
    lanes: &[Vec<&Step>],
    options: &Options,
    stopped: &AtomicBool,
) -> Vec<StepResult> {
    let ended = Mutex::new(Vec::new());
    let keep = &|result| ended.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(result);
    std::thread::scope(|scope| {
        for lane in lanes {
            scope.spawn(move || {
                for step in lane {
                    keep(run_step(step, options, stopped, Step::run_apart));
                }
            });
        }
    });
    let mut results = ended.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    results.sort_by_key(|result| group.iter().position(|step| step.name == result.name));
    results
}

fn run_step(
    step: &Step,
    options: &Options,
    stopped: &AtomicBool,
    run: fn(&Step, &Options) -> AnyResult,
) -> StepResult {
    if stopped.load(Ordering::Relaxed) {
        return StepResult { name: step.name, ended: None };
    }
    println!("\n=== {}: {}", step.name, step.what);
    let started = Instant::now();
    let outcome = run(step, options).map_err(|failure| failure.to_string());
    let elapsed = started.elapsed();
    match &outcome {
        Ok(()) => println!("=== {}: ok, {}", step.name, seconds(elapsed)),
        Err(failure) => println!("=== {}: FAILED, {}: {failure}", step.name, seconds(elapsed)),
    }
    if outcome.is_err() && !options.keep_going {
        stopped.store(true, Ordering::Relaxed);
    }
    StepResult { name: step.name, ended: Some((outcome, elapsed)) }
}

impl Step {
    fn run_here(&self, options: &Options) -> AnyResult {
        (self.run)(options)
    }

    /// In a process of its own. Its output is shown when it ends, so that two steps do not mix their lines.
    fn run_apart(&self, options: &Options) -> AnyResult {
        let folder = tools::folder()?;
        fs::create_dir_all(&folder)?;
        let path = folder.join(format!("{}.log", self.name));
        let log = File::create(&path)?;
        // The very file that runs: a build may have put another one in its place.
        let running = Path::new("/proc/self/exe");
        let this = if running.exists() { running.to_owned() } else { std::env::current_exe()? };
        let mut command = program(this);
        command.args(["test", self.name]).args(options.large.then_some("--large"));
        let outcome = run(command.stdout(log.try_clone()?).stderr(log));
        print!("{}", String::from_utf8_lossy(&fs::read(&path)?));
        outcome
    }
}

fn summary(results: &[StepResult], total: Duration) -> String {
    let mut lines = format!("{:<14} {:<8} {:>9}\n", "step", "result", "time");
    for StepResult { name, ended } in results {
        let (word, time) = match ended {
            Some((outcome, elapsed)) => (if outcome.is_ok() { "ok" } else { "FAILED" }, seconds(*elapsed)),
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

/// `cargo test`, with a browser, and with PostgreSQL where the tests would not find it.
fn tests() -> AnyResult<std::process::Command> {
    let mut command = cargo();
    command.arg("test").env(tools::BROWSER_VARIABLE, tools::browser()?);
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

    const GOOD: Step = alone("good", "passes", |_| Ok(()));
    const BAD: Step = alone("bad", "fails", |_| Err("no".into()));

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
    fn lanes_keep_their_order_and_stop_together() {
        let steps = [&wire("a", "", |_| Ok(())), &browser("b", "", |_| Ok(())), &wire("c", "", |_| Ok(()))];
        let names: Vec<Vec<&str>> =
            lanes(&steps).iter().map(|lane| lane.iter().map(|step| step.name).collect()).collect();
        assert_eq!(names, [vec!["a", "c"], vec!["b"]]);
        let stopped = AtomicBool::new(true);
        let results = side_by_side(&steps, &lanes(&steps), &Options::default(), &stopped);
        let order: Vec<&str> = results.iter().map(|result| result.name).collect();
        assert_eq!(order, ["a", "b", "c"]);
        assert!(results.iter().all(|result| result.ended.is_none()));
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
all                        99.0 s
";
        assert_eq!(summary(&results, Duration::from_secs(99)), expected);
    }
}
