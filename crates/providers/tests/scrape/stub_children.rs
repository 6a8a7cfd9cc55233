//! Children that behave, and children that do not.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use rowmill_clock::{Clock as _, SystemClock};
use rowmill_fairness::Tenant;
use rowmill_model::column::RenderMode;
use rowmill_providers::scrape::{Extractor, Program, Scraped, Scraper, Target, Wanted, child};
use rowmill_providers::{Failure, FailureKind};

use crate::server::{Server, text};
use crate::support::client;

/// What this program does as a child.
pub(crate) fn behave(mode: &str, argument: Option<String>) -> ExitCode {
    let is_held = argument.as_ref().is_some_and(|path| Path::new(path).with_extension("hold").exists());
    if let Some(path) = argument {
        std::fs::write(path, std::process::id().to_string()).unwrap();
    }
    let (mut input, mut output) = (std::io::stdin(), std::io::stdout());
    let mut first = [0; 4];
    match mode {
        // Nothing of the service's environment may be seen.
        "good" if std::env::vars_os().next().is_some() => return ExitCode::FAILURE,
        "hang" => {}
        "hang-while-held" if is_held => {}
        "good" | "hang-while-held" => {
            child::run(input, output).unwrap();
            return ExitCode::SUCCESS;
        }
        "spin" => loop {
            std::hint::spin_loop();
        },
        "crash" => {
            input.read_exact(&mut first).unwrap();
            std::process::abort();
        }
        "garbage" => output.write_all(&[b'x'; 1000]).unwrap(),
        "flood" => output.write_all(&u32::MAX.to_le_bytes()).unwrap(),
        _ => return ExitCode::FAILURE,
    }
    output.flush().unwrap();
    loop {
        std::thread::park();
    }
}

pub(crate) fn program(mode: &str) -> Program {
    Program { children_max: 1, team_children_max: 1, ..Program::this([format!("child={mode}")]).unwrap() }
}

pub(crate) fn scraper(mode: &str) -> Scraper {
    Scraper::new(client("127.0.0.1/32"), Extractor::new(program(mode)))
}

pub(crate) fn target(server: &Server, path: &str) -> Target {
    Target {
        url: server.base.join(path).unwrap().into(),
        wanted: Wanted::default(),
        only_main_content: true,
        respect_robots: false,
        render: RenderMode::Auto,
        timeout: Duration::from_secs(20),
        bytes_max: 100_000_000,
    }
}

async fn pages(count: usize) -> Server {
    Server::start(vec![text(200, "text/html", "<p>Hello"); count]).await
}

async fn scrape(program: Program, count: usize) -> Vec<Result<Scraped, Failure>> {
    let server = pages(count).await;
    let scraper = Scraper::new(client("127.0.0.1/32"), Extractor::new(program));
    let mut outcomes = Vec::new();
    for _ in 0..count {
        outcomes.push(scraper.scrape(&target(&server, "/"), &()).await);
    }
    outcomes
}

pub(crate) async fn a_child_serves_many_pages_and_is_replaced() {
    let path = std::env::temp_dir().join(format!("rowmill-scrape-{}", std::process::id()));
    for (pages_max, children) in [(100, 1), (2, 3)] {
        let mut program = program("good");
        program.pages_max = pages_max;
        program.args.push(path.clone().into());
        let server = pages(5).await;
        let scraper = Scraper::new(client("127.0.0.1/32"), Extractor::new(program));
        let mut seen = Vec::new();
        for _ in 0..5 {
            assert_eq!(scraper.scrape(&target(&server, "/"), &()).await.unwrap().markdown, "Hello");
            seen.push(std::fs::read_to_string(&path).unwrap());
        }
        seen.dedup();
        assert_eq!(seen.len(), children);
    }
    std::fs::remove_file(path).unwrap();
}

pub(crate) async fn a_child_that_breaks_costs_one_page() {
    for (mode, kind) in [
        ("crash", FailureKind::InvalidOutput),
        ("garbage", FailureKind::TooLarge),
        ("flood", FailureKind::TooLarge),
        ("none", FailureKind::InvalidOutput),
    ] {
        for outcome in scrape(program(mode), 2).await {
            let failure = outcome.unwrap_err();
            assert_eq!((failure.kind, failure.is_transient), (kind, false), "{mode}: {failure:?}");
        }
    }
}

pub(crate) async fn a_child_that_hangs_is_killed() {
    let path = std::env::temp_dir().join(format!("rowmill-hang-{}", std::process::id()));
    let mut program = program("hang");
    program.page_wait_max = Duration::from_millis(300);
    program.args.push(path.clone().into());
    let failure = scrape(program, 1).await.remove(0).unwrap_err();
    assert_eq!((failure.kind, failure.is_transient), (FailureKind::TimedOut, true), "{failure:?}");
    if let Ok(pid) = std::fs::read_to_string(&path) {
        assert!(!is_running(&pid));
        std::fs::remove_file(path).unwrap();
    }
}

/// It is the processor's time that makes a page too intricate, and trying again would not help.
pub(crate) async fn a_page_has_processor_time() {
    let mut program = program("spin");
    program.page_time_max = Duration::from_millis(300);
    let failure = scrape(program, 1).await.remove(0).unwrap_err();
    assert_eq!((failure.kind, failure.is_transient), (FailureKind::TimedOut, false), "{failure:?}");
    assert!(failure.message.contains("processor"), "{failure:?}");
}

pub(crate) async fn a_team_does_not_wait_for_anothers_pages() {
    let path = std::env::temp_dir().join(format!("rowmill-turns-{}", std::process::id()));
    let hold = path.with_extension("hold");
    std::fs::write(&hold, "").unwrap();
    let mut program = program("hang-while-held");
    program.children_max = 2;
    program.args.push(path.clone().into());
    let server = pages(4).await;
    let scraper = Arc::new(Scraper::new(client("127.0.0.1/32"), Extractor::new(program)));
    let page = |team: u128| {
        let (scraper, target) = (Arc::clone(&scraper), target(&server, "/"));
        tokio::spawn(Tenant::team(team).scope(async move { scraper.scrape(&target, &()).await }))
    };
    let noisy = [page(1), page(1), page(1)];
    until(|| std::fs::read_to_string(&path).ok().filter(|pid| !pid.is_empty())).await;
    // All three pages are there before anybody else asks.
    until(|| (server.seen().len() == 3).then_some(())).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    std::fs::remove_file(&hold).unwrap();
    let quiet = tokio::time::timeout(Duration::from_secs(20), page(2)).await;
    assert_eq!(quiet.unwrap().unwrap().unwrap().markdown, "Hello");
    for page in noisy {
        page.abort();
    }
    std::fs::remove_file(path).unwrap();
}

pub(crate) async fn a_dropped_page_kills_its_child() {
    let path = std::env::temp_dir().join(format!("rowmill-drop-{}", std::process::id()));
    let mut program = program("hang");
    program.args.push(path.clone().into());
    let server = pages(1).await;
    let scraper = Scraper::new(client("127.0.0.1/32"), Extractor::new(program));
    let target = target(&server, "/");
    let page = tokio::spawn(async move { scraper.scrape(&target, &()).await });
    let pid = until(|| std::fs::read_to_string(&path).ok().filter(|pid| !pid.is_empty())).await;
    page.abort();
    until(|| (!is_running(&pid)).then_some(())).await;
    std::fs::remove_file(path).unwrap();
}

pub(crate) async fn a_missing_program_may_come_back() {
    let missing = Program { path: "/no/such/program".into(), ..program("good") };
    let failure = scrape(missing, 1).await.remove(0).unwrap_err();
    assert_eq!((failure.kind, failure.is_transient), (FailureKind::ProviderError, true), "{failure:?}");
}

/// A killed process whose parent has not asked for it yet runs no more.
fn is_running(pid: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

pub(crate) async fn until<T>(mut ready: impl FnMut() -> Option<T>) -> T {
    let begun = SystemClock.monotonic();
    loop {
        if let Some(value) = ready() {
            return value;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "it never came");
        tokio::task::yield_now().await;
    }
}
