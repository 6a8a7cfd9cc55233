//! The limits of page reads, each axum in a process of its own: handing out ready-made bytes, and reading the rows of a page from
//! SQLite by their key.

use std::cell::RefCell;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::Path as AxumPath;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use axum::serve::ListenerExt as _;
use rusqlite::{Connection, OpenFlags};

use crate::any_result::AnyResult;
use crate::rowmill::processor_time;
use crate::sample;

/// Rows of a page that is read by key.
pub(crate) const PAGE_ROWS: u64 = 100;

#[derive(Debug)]
pub(crate) struct Bare {
    process: Child,
    pub(crate) address: SocketAddr,
}

impl Bare {
    /// Serves each of these answers, the n-th at `/n`.
    pub(crate) fn start(scratch: &Path, answers: &[Vec<u8>]) -> AnyResult<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        for (index, answer) in answers.iter().enumerate() {
            let file = scratch.join(format!("answer-{index}"));
            std::fs::write(&file, answer)?;
            command.arg("--bare").arg(file);
        }
        Self::spawn(command)
    }

    /// Serves pages of these rows, the n-th at `/n`.
    pub(crate) fn start_by_key(scratch: &Path, rows: usize) -> AnyResult<Self> {
        let file = scratch.join("by-key.db");
        let _ = std::fs::remove_file(&file);
        let mut connection = Connection::open(&file)?;
        connection.execute_batch("CREATE TABLE rows (num INTEGER PRIMARY KEY, row TEXT NOT NULL)")?;
        let transaction = connection.transaction()?;
        let mut insert = transaction.prepare("INSERT INTO rows (num, row) VALUES (?1, ?2)")?;
        for index in 0..rows {
            let row = format!(r#"{{"id":"row_{index:032x}","cells":{}}}"#, sample::row(index));
            insert.execute((i64::try_from(index)?, row))?;
        }
        drop(insert);
        transaction.commit()?;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("--bare-by-key").arg(file);
        Self::spawn(command)
    }

    fn spawn(mut command: Command) -> AnyResult<Self> {
        let mut process = command.env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let output = process.stdout.take().ok_or("the bare handler has no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        Ok(Self { process, address: line.trim().parse()? })
    }

    pub(crate) fn processor_time(&self) -> AnyResult<Duration> {
        processor_time(self.process.id())
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What the process behind [`Bare`] does, on as many threads as the service has.
pub(crate) fn serve(answers: &[PathBuf]) -> AnyResult {
    let mut router = Router::new();
    for (index, file) in answers.iter().enumerate() {
        let bytes = Bytes::from(std::fs::read(file)?);
        let kind = if bytes.starts_with(b"<") { "text/html; charset=utf-8" } else { "application/json" };
        let handler = move || std::future::ready(([(CONTENT_TYPE, kind)], bytes.clone()));
        let taking = {
            let handler = handler.clone();
            move |_: Bytes| handler()
        };
        router = router.route(&format!("/{index}"), get(handler).post(taking));
    }
    serve_router(router)
}

/// What the process behind [`Bare::start_by_key`] does. Rows are read on the threads that answer, like the service's.
pub(crate) fn serve_by_key(file: PathBuf) -> AnyResult {
    thread_local! {
        static CONNECTION: RefCell<Option<Connection>> = const { RefCell::new(None) };
    }
    let read = move |page: u64| {
        CONNECTION.with_borrow_mut(|connection| {
            if connection.is_none() {
                *connection = Some(Connection::open_with_flags(&file, OpenFlags::SQLITE_OPEN_READ_ONLY)?);
            }
            connection.as_ref().map_or(Ok(Vec::new()), |connection| read_page(connection, page))
        })
    };
    let answer = move |AxumPath(page): AxumPath<u64>| {
        let read = read(page).map_err(|error: rusqlite::Error| error.to_string());
        std::future::ready(read.map(|bytes| ([(CONTENT_TYPE, "application/json")], bytes)))
    };
    serve_router(Router::new().route("/{page}", get(answer)))
}

/// The page with this number, from 1.
fn read_page(connection: &Connection, page: u64) -> rusqlite::Result<Vec<u8>> {
    let mut query =
        connection.prepare_cached("SELECT row FROM rows WHERE num >= ?1 ORDER BY num LIMIT ?2")?;
    let mut rows = query.query((page.saturating_sub(1) * PAGE_ROWS, PAGE_ROWS))?;
    let mut answer = br#"{"success":true,"rows":["#.to_vec();
    let mut comma: &[u8] = b"";
    while let Some(row) = rows.next()? {
        answer.extend_from_slice(comma);
        answer.extend_from_slice(row.get_ref(0)?.as_bytes()?);
        comma = b",";
    }
    answer.extend_from_slice(b"]}");
    Ok(answer)
}

fn serve_router(router: Router) -> AnyResult {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        writeln!(std::io::stdout(), "{}", listener.local_addr()?)?;
        let listener = listener.tap_io(|stream| {
            let _ = stream.set_nodelay(true);
        });
        axum::serve(listener, router).await?;
        Ok(())
    })
}
