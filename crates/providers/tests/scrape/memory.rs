//! What pages take in memory while they come.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rowmill_fairness::Tenant;
use rowmill_providers::Failure;
use rowmill_providers::scrape::{Scraped, Scraper, Target};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use url::Url;

use crate::server::{Server, text};
use crate::stub_children::{scraper, target, until};

const PAGES: usize = 40;
/// What a team may have of them.
const TEAM_PAGES: usize = 8;
const PAGE_BYTES: usize = 2 * 1024 * 1024;

/// A server that sends large pages but for their end, until it is told to.
struct SlowServer {
    base: Url,
    asked: Arc<AtomicUsize>,
    /// What is on its way or has come, of all pages that somebody still waits for.
    held_bytes: Arc<AtomicUsize>,
    end: watch::Sender<bool>,
}

impl SlowServer {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = Url::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        let (end, may_end) = watch::channel(false);
        let (asked, held_bytes) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let server = Self { base, asked: Arc::clone(&asked), held_bytes: Arc::clone(&held_bytes), end };
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (asked, held_bytes, may_end) =
                    (Arc::clone(&asked), Arc::clone(&held_bytes), may_end.clone());
                tokio::spawn(async move {
                    let mut sent = 0;
                    // Who hangs up holds nothing.
                    _ = send(stream, &asked, &held_bytes, &mut sent, may_end).await;
                    held_bytes.fetch_sub(sent, Ordering::SeqCst);
                });
            }
        });
        server
    }
}

async fn send(
    mut stream: TcpStream,
    asked: &AtomicUsize,
    held_bytes: &AtomicUsize,
    sent: &mut usize,
    mut may_end: watch::Receiver<bool>,
) -> std::io::Result<()> {
    let mut request = [0; 4096];
    _ = stream.read(&mut request).await?;
    asked.fetch_add(1, Ordering::SeqCst);
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n").await?;
    let part = [b"A word. ".as_slice(); 1024].concat();
    while *sent < PAGE_BYTES {
        stream.write_all(&part).await?;
        *sent += part.len();
        held_bytes.fetch_add(part.len(), Ordering::SeqCst);
    }
    let is_wanted = tokio::select! {
        may = may_end.wait_for(|may| *may) => may.is_ok(),
        _ = stream.read(&mut request) => false,
    };
    if is_wanted { stream.shutdown().await } else { Ok(()) }
}

fn begin(scraper: &Arc<Scraper>, team: u128, target: &Target) -> JoinHandle<Result<Scraped, Failure>> {
    let (scraper, target) = (Arc::clone(scraper), target.clone());
    tokio::spawn(Tenant::team(team).scope(async move { scraper.scrape(&target, &()).await }))
}

async fn read(scraper: &Arc<Scraper>, team: u128, target: &Target) -> Scraped {
    let page = tokio::time::timeout(Duration::from_secs(20), begin(scraper, team, target)).await;
    page.unwrap().unwrap().unwrap()
}

pub(crate) async fn pages_that_come_slowly_are_few() {
    let server = SlowServer::start().await;
    let large = "A word. ".repeat(PAGE_BYTES / 8);
    let quick = Server::start_with("127.0.0.1", move |seen| {
        let body = if seen.target == "/large" { large.as_str() } else { "Small" };
        Some(text(200, "text/plain", body))
    })
    .await;
    let scraper = Arc::new(scraper("good"));
    let mut slow = target(&quick, "/");
    slow.url = server.base.clone().into();
    slow.timeout = Duration::from_mins(2);
    let pages: Vec<_> = (0..PAGES).map(|_| begin(&scraper, 1, &slow)).collect();
    let held = || server.held_bytes.load(Ordering::SeqCst);
    until(|| (server.asked.load(Ordering::SeqCst) == PAGES).then_some(())).await;
    until(|| (held() == TEAM_PAGES * PAGE_BYTES).then_some(())).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!((held(), server.asked.load(Ordering::SeqCst)), (TEAM_PAGES * PAGE_BYTES, PAGES));

    for team in [1, 2] {
        assert_eq!(read(&scraper, team, &target(&quick, "/small")).await.markdown, "Small", "team {team}");
    }
    let page = read(&scraper, 2, &target(&quick, "/large")).await;
    assert!(page.markdown.starts_with("A word."));
    assert_eq!(held(), TEAM_PAGES * PAGE_BYTES, "the others still wait");

    server.end.send(true).unwrap();
    for page in pages {
        assert!(page.await.unwrap().is_ok(), "those that waited get their turn");
    }
    assert_eq!(server.asked.load(Ordering::SeqCst), 2 * PAGES - TEAM_PAGES);
}
