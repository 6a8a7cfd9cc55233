//! A balancer in front of several nodes: each connection goes to the next node that says it is ready.

use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::http::{self, Request};

/// How often each node is asked whether it is ready.
const CHECK_EVERY: Duration = Duration::from_millis(100);

pub(crate) struct Balancer {
    pub(crate) address: String,
    inner: Arc<Inner>,
}

struct Inner {
    /// Where each node is, and whether it said that it is ready.
    nodes: Mutex<Vec<(String, bool)>>,
    turn: AtomicUsize,
    stopped: AtomicBool,
}

impl Balancer {
    pub(crate) fn start(nodes: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let nodes = nodes.iter().map(|node| ((*node).to_owned(), true)).collect();
        let inner = Arc::new(Inner {
            nodes: Mutex::new(nodes),
            turn: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
        });
        let checking = Arc::clone(&inner);
        std::thread::spawn(move || {
            while !checking.stopped.load(Ordering::Acquire) {
                checking.check();
                std::thread::sleep(CHECK_EVERY);
            }
        });
        let serving = Arc::clone(&inner);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if serving.stopped.load(Ordering::Acquire) {
                    break;
                }
                let inner = Arc::clone(&serving);
                std::thread::spawn(move || inner.pass_on(&stream));
            }
        });
        Self { address, inner }
    }

    /// A node was started again, at another address.
    pub(crate) fn moved(&self, node: usize, address: &str) {
        self.inner.nodes.lock().unwrap()[node] = (address.to_owned(), true);
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        self.inner.stopped.store(true, Ordering::Release);
        let _ = TcpStream::connect(&self.address);
    }
}

impl Inner {
    fn check(&self) {
        let asked = self.nodes.lock().unwrap().clone();
        for (index, (address, _)) in asked.into_iter().enumerate() {
            let answer = http::exchange(&address, &Request::get("/readyz"));
            let is_ready = answer.is_ok_and(|response| response.status == 200);
            let node = &mut self.nodes.lock().unwrap()[index];
            if node.0 == address {
                node.1 = is_ready;
            }
        }
    }

    /// A connection to a node: ready ones first, each in its turn.
    fn connect(&self) -> Option<TcpStream> {
        let nodes = self.nodes.lock().unwrap().clone();
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let in_turn = || (0..nodes.len()).map(|step| &nodes[(turn + step) % nodes.len()]);
        let ready = in_turn().filter(|(_, is_ready)| *is_ready);
        ready.chain(in_turn()).find_map(|(address, _)| TcpStream::connect(address).ok())
    }

    fn pass_on(&self, client: &TcpStream) {
        let Some(node) = self.connect() else { return };
        let _ = (client.set_nodelay(true), node.set_nodelay(true));
        std::thread::scope(|scope| {
            scope.spawn(|| copy(client, &node));
            copy(&node, client);
        });
    }
}

/// Passes bytes on until either end is closed, and closes the other.
fn copy(mut from: &TcpStream, mut to: &TcpStream) {
    let _ = std::io::copy(&mut from, &mut to);
    let _ = (to.shutdown(Shutdown::Write), from.shutdown(Shutdown::Read));
}
