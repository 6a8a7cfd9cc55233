//! The service under measurement, as its own process on a data directory of its own.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::any_result::AnyResult;
use crate::client::{Connection, request};
use crate::sample::HEADERS;
use crate::store::DataLocation;

/// A service that does not answer by then will not.
const START_TIME_MAX: Duration = Duration::from_mins(1);

#[derive(Debug)]
pub(crate) struct Rowmill {
    binary: PathBuf,
    process: Child,
    pub(crate) address: SocketAddr,
    pub(crate) key: String,
    pub(crate) place: DataLocation,
}

/// A project with some text columns.
#[derive(Debug)]
pub(crate) struct Project {
    pub(crate) id: String,
    columns: Vec<(String, String)>,
}

impl Project {
    pub(crate) fn rows_path(&self) -> String {
        format!("/v4/projects/{}/rows", self.id)
    }

    pub(crate) fn column_id(&self, header: &str) -> AnyResult<&str> {
        let column = self.columns.iter().find(|(known, _)| known == header);
        Ok(column.map(|(_, id)| id.as_str()).ok_or("a column is missing")?)
    }
}

/// Memory of a process, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Memory {
    pub(crate) resident: u64,
    pub(crate) resident_max: u64,
    /// What is resident without pages of files, such as those of the program itself, which the system can drop.
    pub(crate) own: u64,
}

impl Rowmill {
    /// Starts the service where nothing is yet.
    pub(crate) fn start(binary: &Path, place: DataLocation) -> AnyResult<Self> {
        let address = free_address()?;
        let mut process = spawn(binary, &place, address)?;
        let mut output = BufReader::new(process.stdout.take().ok_or("the service has no output")?);
        let lines = output.by_ref().lines().map_while(Result::ok);
        let key = lines.map(|line| line.trim().to_owned()).find(|line| line.starts_with("rm_"));
        let key = key.ok_or("the service said no key")?;
        // It has more to say, and must not find the pipe closed.
        process.stdout = Some(output.into_inner());
        Ok(Self { binary: binary.to_owned(), process, address, key, place })
    }

    /// Kills the service and starts it on the same data; says how long that took to the first answer.
    pub(crate) fn restart(&mut self) -> AnyResult<Duration> {
        self.process.kill()?;
        self.process.wait()?;
        self.address = free_address()?;
        let start = Instant::now();
        self.process = spawn(&self.binary, &self.place, self.address)?;
        self.first_answer(start)
    }

    /// Another node, on data that is shared.
    pub(crate) fn beside(&self, place: DataLocation) -> AnyResult<Self> {
        let address = free_address()?;
        let process = spawn(&self.binary, &place, address)?;
        let node = Self { binary: self.binary.clone(), process, address, key: self.key.clone(), place };
        node.first_answer(Instant::now())?;
        Ok(node)
    }

    /// How long it took since then.
    fn first_answer(&self, start: Instant) -> AnyResult<Duration> {
        let health = request("GET", "/healthz", "", "");
        loop {
            let answer = Connection::open(self.address)
                .and_then(|mut connection| connection.exchange(&health).map(<[u8]>::len));
            let elapsed = start.elapsed();
            match answer {
                Ok(_) => return Ok(elapsed),
                Err(error) if elapsed > START_TIME_MAX => return Err(error),
                Err(_) => std::thread::sleep(Duration::from_micros(200)),
            }
        }
    }

    pub(crate) fn request(&self, method: &str, path: &str, body: &str) -> Vec<u8> {
        request(method, path, &self.key, body)
    }

    /// Sends one request and gives back the bytes of its answer.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &str) -> AnyResult<Vec<u8>> {
        let mut connection = Connection::open(self.address)?;
        Ok(connection.exchange(&self.request(method, path, body))?.to_vec())
    }

    /// What `/metrics` tells.
    pub(crate) fn metrics(&self) -> AnyResult<String> {
        let mut connection = Connection::open(self.address)?;
        let asked = request("GET", "/metrics", METRICS_TOKEN, "");
        Ok(String::from_utf8(connection.exchange(&asked)?.to_vec())?)
    }

    pub(crate) fn create_project(&self) -> AnyResult<Project> {
        self.create_project_of(&HEADERS)
    }

    /// A project with these columns.
    pub(crate) fn create_project_of(&self, headers: &[&str]) -> AnyResult<Project> {
        let column = |header: &&str| json!({ "templateId": "manual", "header": header });
        let columns: Vec<Value> = headers.iter().map(column).collect();
        let body = json!({ "title": "Bench", "columns": columns }).to_string();
        let answer: Value = serde_json::from_slice(&self.ask("POST", "/v4/projects", &body)?)?;
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let project = answer.get("project").ok_or("the answer has no project")?;
        let columns = project.get("columns").and_then(Value::as_array).ok_or("the project has no columns")?;
        Ok(Project {
            id: text(project.get("id")),
            columns: columns
                .iter()
                .map(|column| (text(column.get("header")), text(column.get("id"))))
                .collect(),
        })
    }

    /// A new team, and the key that speaks for it.
    pub(crate) fn team(&self, slug: &str) -> AnyResult<String> {
        let run = |arguments: &[&str]| -> AnyResult<String> {
            let mut command = command(&self.binary, &self.place);
            let done = command.env("ROWMILL_DATA_DIR", &self.place.data).args(arguments).output()?;
            if !done.status.success() {
                return Err(String::from_utf8_lossy(&done.stderr).into_owned().into());
            }
            Ok(String::from_utf8(done.stdout)?.trim().to_owned())
        };
        run(&["team", "create", "--slug", slug])?;
        run(&["key", "create", "--team", slug])
    }

    pub(crate) fn processor_time(&self) -> AnyResult<Duration> {
        processor_time(self.process.id())
    }

    pub(crate) fn memory(&self) -> AnyResult<Memory> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let field = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name))?;
            line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
        };
        let missing = "the system does not say how much memory is resident";
        Ok(Memory {
            resident: field("VmRSS:").ok_or(missing)?,
            resident_max: field("VmHWM:").ok_or(missing)?,
            own: field("RssAnon:").ok_or(missing)?,
        })
    }
}

impl Drop for Rowmill {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What its metrics are asked for with.
const METRICS_TOKEN: &str = "metrics-token-of-the-bench";

fn spawn(binary: &Path, place: &DataLocation, address: SocketAddr) -> AnyResult<Child> {
    let mut command = command(binary, place);
    command.args(["serve", "--listen", &address.to_string(), "--data-dir"]).arg(&place.data);
    command
        .env("ROWMILL_RATE_LIMIT_KEY", "0")
        .env("ROWMILL_RATE_LIMIT_WEBHOOK", "0")
        .env("ROWMILL_ALLOW_PRIVATE", "127.0.0.1/32")
        .env("ROWMILL_WORKER_CONCURRENCY", "64")
        .env("ROWMILL_LOG", "warn")
        .env("ROWMILL_METRICS_TOKEN", METRICS_TOKEN)
        .stdout(Stdio::piped());
    Ok(command.spawn()?)
}

/// The binary on this data, with no other settings.
fn command(binary: &Path, place: &DataLocation) -> Command {
    let mut command = Command::new(binary);
    command.env_clear().stdin(Stdio::null());
    if let Some(url) = place.url() {
        command.env("ROWMILL_DATABASE_URL", url).env("ROWMILL_SECRET_KEY", "bench".repeat(10));
    }
    // Away from any settings file.
    command.current_dir(place.data.parent().unwrap_or(&place.data));
    command
}

/// The time a process has been running on any processor, in all its threads that still live.
pub(crate) fn processor_time(process: u32) -> AnyResult<Duration> {
    let mut total = Duration::ZERO;
    for thread in std::fs::read_dir(format!("/proc/{process}/task"))? {
        let times = std::fs::read_to_string(thread?.path().join("schedstat"))?;
        let nanoseconds = times.split_whitespace().next().unwrap_or_default().parse()?;
        total += Duration::from_nanos(nanoseconds);
    }
    Ok(total)
}

pub(crate) fn free_address() -> AnyResult<SocketAddr> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}
