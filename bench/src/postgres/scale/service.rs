//! Three nodes as one service: `HAProxy` before them, `PgBouncer` behind them.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::any_result::AnyResult;
use crate::client::Connection;
use crate::rowmill::{Rowmill, free_address};
use crate::store::{Backend, DataLocation};

pub(super) const NODES: usize = 3;
const READY_TIME_MAX: Duration = Duration::from_secs(20);
const ANSWER_TIME_MAX: Duration = Duration::from_mins(10);
/// Enough for all connections of all nodes: the pooler of Debian 12 is too old to share them between transactions.
const POOL: usize = 100;

/// Programs of others, and where figures go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting<'s> {
    /// The binary that is measured.
    pub(crate) server: &'s Path,
    /// A folder into which Debian's packages were unpacked.
    pub(crate) programs: &'s Path,
    pub(crate) scratch: &'s Path,
    pub(crate) page: Option<&'s Path>,
}

#[derive(Debug)]
pub(super) struct Service {
    // In the order in which they end.
    _balancer: Helper,
    nodes: Vec<Rowmill>,
    _pooler: Helper,
    place: DataLocation,
    address: SocketAddr,
}

impl Service {
    pub(super) fn start(setting: Setting<'_>, backend: &Backend, folder: &Path) -> AnyResult<Self> {
        let place = backend.place(&folder.join("database"))?;
        let direct = place.url().ok_or("only PostgreSQL has several nodes")?;
        let (pooler, url) = start_pooler(setting.programs, folder, direct)?;
        let node = |number: usize| DataLocation::shared(&folder.join(format!("node-{number}")), &url);
        let first = Rowmill::start(setting.server, node(0))?;
        let mut nodes = vec![first];
        for number in 1..NODES {
            let next = nodes.first().ok_or("no node")?.beside(node(number))?;
            nodes.push(next);
        }
        let addresses: Vec<SocketAddr> = nodes.iter().map(|node| node.address).collect();
        let (balancer, address) = start_balancer(setting.programs, folder, &addresses)?;
        Ok(Self { _balancer: balancer, nodes, _pooler: pooler, place, address })
    }

    /// The balancer's.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of the database itself.
    pub(super) fn database_url(&self) -> &str {
        self.place.url().unwrap_or_default()
    }

    #[expect(clippy::indexing_slicing, reason = "there are nodes")]
    pub(super) fn first(&self) -> &Rowmill {
        &self.nodes[0]
    }

    /// Through the balancer, on a connection of its own: the next node's turn.
    pub(super) fn ask(&self, method: &str, path: &str, body: &str) -> AnyResult<Value> {
        let mut connection = Connection::open(self.address)?;
        let answer = connection.exchange(&self.first().request(method, path, body));
        Ok(serde_json::from_slice(answer.map_err(|error| format!("{method} {path}: {error}"))?)?)
    }

    /// Until every node has read what it needs for this path; the longest of them. A node may say that it takes too long, and
    /// goes on reading.
    pub(super) fn first_answer(&self, path: &str) -> AnyResult<Duration> {
        let mut longest = Duration::ZERO;
        for node in &self.nodes {
            let start = Instant::now();
            while let Err(error) = node.ask("GET", path, "") {
                if start.elapsed() > ANSWER_TIME_MAX {
                    return Err(error);
                }
                std::thread::sleep(Duration::from_millis(100));
            }
            longest = longest.max(start.elapsed());
        }
        Ok(longest)
    }

    /// Resident memory of each node.
    pub(super) fn memory(&self) -> AnyResult<Vec<u64>> {
        self.nodes.iter().map(|node| Ok(node.memory()?.resident)).collect()
    }
}

/// A program of others, which ends when this is dropped.
#[derive(Debug)]
struct Helper(Child);

impl Drop for Helper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start_pooler(programs: &Path, folder: &Path, direct: &str) -> AnyResult<(Helper, String)> {
    let address = free_address()?;
    // postgres://rowmill@127.0.0.1:5432/name
    let (scheme, rest) = direct.split_once("://").ok_or("no address of a database")?;
    let (authority, name) = rest.split_once('/').ok_or("no name of a database")?;
    let (user, host) = authority.split_once('@').ok_or("no user of the database")?;
    let (host, port) = host.split_once(':').ok_or("no port of the database")?;
    let text = format!(
        "[databases]\n* = host={host} port={port} user={user}\n[pgbouncer]\nlisten_addr = {}\nlisten_port = {}\n\
         unix_socket_dir =\nauth_type = any\npool_mode = session\ndefault_pool_size = {POOL}\nmax_client_conn = {}\n",
        address.ip(),
        address.port(),
        POOL * 2,
    );
    let file = folder.join("pgbouncer.ini");
    fs::write(&file, text)?;
    let mut command = helper(programs, "pgbouncer");
    // It refuses to run as root, and takes another user where it can. Others change nothing for it.
    if rustix::process::getuid().is_root() {
        command.args(["--user", "nobody"]);
    }
    let started = start(command.arg("--quiet").arg(file), "pgbouncer", address)?;
    Ok((started, format!("{scheme}://{user}@{address}/{name}")))
}

/// With the file that compose.postgres.yml uses.
fn start_balancer(programs: &Path, folder: &Path, nodes: &[SocketAddr]) -> AnyResult<(Helper, SocketAddr)> {
    let address = free_address()?;
    let mut text =
        include_str!("../../../../packaging/haproxy.cfg").replace("bind :8080", &format!("bind {address}"));
    // In turn, so that every node is asked.
    text = text.replace("balance leastconn", "balance roundrobin");
    for (number, node) in (1..).zip(nodes) {
        let name = format!("server-{number}:8080");
        if text.contains(&name) {
            text = text.replace(&name, &node.to_string());
        } else {
            text = format!("{text}    server server-{number} {node}\n");
        }
    }
    let file = folder.join("haproxy.cfg");
    fs::write(&file, text)?;
    let started = start(helper(programs, "haproxy").arg("-f").arg(file), "haproxy", address)?;
    Ok((started, address))
}

/// The unpacked program, or else the system's.
fn helper(programs: &Path, name: &str) -> Command {
    let own = programs.join("usr/sbin").join(name);
    let mut command = Command::new(if own.is_file() { own } else { Path::new("/usr/sbin").join(name) });
    let libraries = fs::read_dir(programs.join("usr/lib")).into_iter().flatten().flatten();
    let libraries = libraries.map(|entry| entry.path());
    let libraries = libraries.filter(|path| path.to_string_lossy().ends_with("-linux-gnu"));
    command.env("LD_LIBRARY_PATH", std::env::join_paths(libraries).unwrap_or_default());
    command
}

fn start(command: &mut Command, name: &str, address: SocketAddr) -> AnyResult<Helper> {
    let started = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
    let mut helper = Helper(started.map_err(|error| format!("{name}: {error}"))?);
    let start = Instant::now();
    while Connection::open(address).is_err() {
        if let Some(status) = helper.0.try_wait()? {
            return Err(format!("{name} ended: {status}").into());
        }
        if start.elapsed() > READY_TIME_MAX {
            return Err(format!("{name} does not listen").into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(helper)
}
