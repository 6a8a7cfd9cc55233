//! Connections: accepted within their caps, served within their deadlines, and ended without losing an answer.

mod gate;
mod stream;
mod tls;
mod transport;
mod unread;
mod unreadable;

use std::convert::Infallible;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::ConnectInfo;
use axum::http::header::{CONNECTION, EXPECT, HeaderValue};
use axum::http::{Request, Response};
use hyper::body::{Frame, Incoming, SizeHint};
use hyper_util::rt::{TokioIo, TokioTimer};
use rowmill_api::{ArrivedOverTls, PublicUrl, TrustedProxies};
use rowmill_app::App;
use rowmill_model::Limits;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::AsyncWrite as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tower::Service as _;

pub(crate) use self::gate::Caps;
use self::gate::{Gate, Seat};
use self::stream::ClientStream;
use self::tls::Handshake;
pub(crate) use self::tls::{Tls, TlsFiles};
use self::transport::Transport;
use self::unread::Received;
use crate::request_id::request_id;

/// Connections beyond the cap, in which health alone is answered.
const RESERVE: usize = 64;
/// How long a connection has for its first request before it gives way to others.
const GRACE: Duration = Duration::from_millis(250);
/// What a client must do soon where places are few: send its head, or read its answer.
const LIMITED: Duration = Duration::from_secs(5);
/// Files that connections leave to the database, to providers and to child processes at least.
const OTHER_FILES_MIN: u64 = 256;

/// The service, and the address it is known by, if one is set.
#[derive(Debug, Clone)]
pub(crate) struct HttpService {
    pub(crate) router: axum::Router,
    pub(crate) app: Arc<App>,
    pub(crate) public_url: Option<Arc<PublicUrl>>,
    /// Their connections are those of many clients.
    pub(crate) trusted_proxies: Arc<TrustedProxies>,
}

/// What a client has to do in how long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadlines {
    /// Send a request's head, counted from its connection or its last answer.
    head: Duration,
    /// Take something of an answer.
    write: Duration,
}

impl Deadlines {
    pub(crate) fn of(limits: &Limits) -> Self {
        let seconds = |number: u32| Duration::from_secs(number.into());
        Self { head: seconds(limits.head_seconds_max), write: seconds(limits.write_wait_seconds_max) }
    }

    fn limited(self) -> Self {
        Self { head: self.head.min(LIMITED), write: self.write.min(LIMITED) }
    }
}

impl Caps {
    pub(crate) fn of(limits: &Limits) -> Self {
        let number = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        Self {
            total: number(limits.connections_max),
            per_address: number(limits.connections_per_address_max),
            reserve: RESERVE,
            grace: GRACE,
        }
    }

    /// Of a listener that serves nothing but health.
    pub(crate) const ADMIN: Self =
        Self { total: RESERVE, per_address: RESERVE, reserve: RESERVE, grace: Duration::ZERO };
}

/// Lets this process open as many files as it is allowed to, and leaves no more connections than fit.
pub(crate) fn fit_to_files(limits: &mut Limits) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // Where the system does not let us, we have as many as before.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let files = getrlimit(Resource::Nofile).current.or(current).unwrap_or(u64::MAX);
    let fit = files.saturating_sub(OTHER_FILES_MIN.max(files / 4)).max(1);
    let fit = u32::try_from(fit).unwrap_or(u32::MAX);
    if fit < limits.connections_max {
        tracing::warn!(
            connections_max = fit,
            files,
            "fewer connections than set: this process may open no more files (ulimit -n, LimitNOFILE)"
        );
        limits.connections_max = fit;
    }
}

/// Where connections come in.
pub(crate) struct Listener {
    socket: TcpListener,
    service: HttpService,
    gate: Arc<Gate>,
    deadlines: Deadlines,
    tls: Option<Tls>,
    /// True once no more requests are taken. Each connection watches it to its end.
    closing: watch::Sender<bool>,
}

impl Listener {
    pub(crate) fn new(socket: TcpListener, service: HttpService, caps: Caps, deadlines: Deadlines) -> Self {
        let (gate, closing) = (Gate::new(caps), watch::Sender::new(false));
        Self { socket, service, gate, deadlines, tls: None, closing }
    }

    /// The same, over TLS where there is a certificate.
    pub(crate) fn with_tls(self, tls: Option<Tls>) -> Self {
        Self { tls, ..self }
    }

    pub(crate) fn address(&self) -> std::io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Accepts connections, for ever.
    pub(crate) async fn accept(&self) {
        loop {
            match self.socket.accept().await {
                Ok((stream, peer)) => self.let_in(stream, peer),
                Err(error) => {
                    // Out of file descriptors, most likely: somebody who waits makes room.
                    tracing::warn!(%error, "could not accept a connection");
                    self.gate.evict_oldest();
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    fn let_in(&self, stream: TcpStream, peer: SocketAddr) {
        let address = Some(peer.ip()).filter(|peer| !self.service.trusted_proxies.is_trusted(*peer));
        let Some(seat) = self.gate.enter(address) else { return };
        let deadlines = if seat.is_limited() { self.deadlines.limited() } else { self.deadlines };
        let (tls, closing) = (self.tls.clone(), self.closing.subscribe());
        let requests = Requests { service: self.service.clone(), peer, is_tls: tls.is_some(), seat };
        tokio::spawn(async move {
            let transport = match tls {
                Some(tls) => handshake(&tls, stream, &requests.seat, deadlines).await,
                None => Some(Transport::Plain(stream)),
            };
            if let Some(transport) = transport {
                serve(transport, requests, deadlines, closing).await;
            }
        });
    }

    /// Takes no more connections. What is returned ends the others, once their requests are answered.
    pub(crate) fn close(self) -> impl Future<Output = ()> {
        let Self { socket, closing, .. } = self;
        drop(socket);
        async move {
            closing.send_replace(true);
            closing.closed().await;
        }
    }
}

/// The TLS handshake of a connection, in the time that a head may take.
async fn handshake(tls: &Tls, stream: TcpStream, seat: &Seat, deadlines: Deadlines) -> Option<Transport> {
    let handshake = tokio::select! {
        handshake = tokio::time::timeout(deadlines.head, tls.handshake(stream)) => handshake.ok()?,
        () = seat.told_to_leave() => return None,
    };
    match handshake {
        Handshake::Done(transport) => Some(transport),
        Handshake::Failed => None,
        Handshake::PlainHttp(mut transport) => {
            unreadable::answer(&mut transport, rowmill_api::Error::HttpsOnly, deadlines.write).await;
            seat.wait();
            hang_up(&mut transport, seat, deadlines).await;
            None
        }
    }
}

/// Ends a connection so that its last answer is read: a client that still sends is given time.
async fn hang_up(transport: &mut Transport, seat: &Seat, deadlines: Deadlines) {
    let shutdown = poll_fn(|cx| Pin::new(&mut *transport).poll_shutdown(cx));
    let _ = tokio::time::timeout(deadlines.write, shutdown).await;
    tokio::select! {
        () = unread::linger(transport.socket()) => {}
        () = seat.told_to_leave() => {}
    }
}

/// One connection, from its first request to its last answer.
async fn serve(
    stream: Transport,
    requests: Requests,
    deadlines: Deadlines,
    mut closing: watch::Receiver<bool>,
) {
    let seat = Arc::clone(&requests.seat);
    let stream = ClientStream::new(stream, Arc::clone(&seat), deadlines.write);
    let mut connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(deadlines.head)
        .keep_alive(!seat.is_limited())
        .serve_connection(TokioIo::new(stream), requests);
    let mut is_ending = false;
    let ended = loop {
        tokio::select! {
            ended = poll_fn(|cx| connection.poll_without_shutdown(cx)) => break ended,
            // An answer under way is sent; but nothing comes after it.
            () = seat.told_to_leave() => {
                if !seat.is_busy() {
                    return;
                }
                seat.end();
                Pin::new(&mut connection).graceful_shutdown();
            }
            _ = closing.changed(), if !is_ending => {
                is_ending = true;
                seat.end();
                Pin::new(&mut connection).graceful_shutdown();
            }
        }
    };
    let parts = connection.into_parts();
    let (stream, head) = (parts.io.into_inner(), parts.read_buf);
    let is_refused = stream.has_held_back();
    let mut stream = stream.into_inner();
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
        match unreadable::refusal(&error, &head) {
            Some(refusal) if is_refused || !seat.is_busy() && !unreadable::is_answered(&error) => {
                unreadable::answer(&mut stream, refusal, deadlines.write).await;
            }
            _ => return,
        }
        seat.leave_unread();
    }
    if seat.has_unread() {
        seat.wait();
        hang_up(&mut stream, &seat, deadlines).await;
    } else {
        let shutdown = poll_fn(|cx| Pin::new(&mut stream).poll_shutdown(cx));
        let _ = tokio::time::timeout(deadlines.write, shutdown).await;
    }
}

/// The requests of one connection.
struct Requests {
    service: HttpService,
    peer: SocketAddr,
    is_tls: bool,
    seat: Arc<Seat>,
}

impl hyper::service::Service<Request<Incoming>> for Requests {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        self.seat.begin();
        let seat = Arc::clone(&self.seat);
        let busy = Busy(Arc::clone(&seat));
        let (mut parts, incoming) = request.into_parts();
        parts.extensions.insert(ConnectInfo(self.peer));
        if self.is_tls {
            parts.extensions.insert(ArrivedOverTls);
        }
        if let Some(inner) = self.service.public_url.as_ref().and_then(|url| url.inner(&parts.uri)) {
            parts.uri = inner;
        }
        let is_refused = seat.is_limited() && !rowmill_api::is_health(parts.uri.path());
        let expects_continue = parts.headers.contains_key(EXPECT);
        let received = Received::new(incoming);
        let body = received.as_ref().map_or_else(Body::empty, Received::lend);
        let mut router = self.service.router.clone();
        let app = Arc::clone(&self.service.app);
        Box::pin(async move {
            let mut response = if is_refused {
                rowmill_api::too_many_connections(&request_id().to_string())
            } else {
                match router.call(Request::from_parts(parts, body)).await {
                    Ok(response) => response,
                    Err(never) => match never {},
                }
            };
            if let Some(received) = received
                && !received.finish(expects_continue).await
            {
                seat.leave_unread();
                seat.end();
            }
            // hyper closes the connection then, but does not say so by itself. Of a service that stops, clients shall
            // open the next one elsewhere.
            if seat.is_ending() || app.is_stopping() {
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok(response.map(|body| Body::new(Answer { body, _busy: busy })))
        })
    }
}

/// The body of an answer; when it is dropped all of it was handed over to be sent.
struct Answer {
    body: Body,
    _busy: Busy,
}

struct Busy(Arc<Seat>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.answered();
    }
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
