//! The limit of page reads: axum handing out ready-made bytes, in a process of its own.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use axum::serve::ListenerExt as _;

use crate::any_result::AnyResult;
use crate::rowmill::processor_time;

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
