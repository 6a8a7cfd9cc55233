//! The finder that needs no key, against a name server and mail servers of our own.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rowmill_providers::email::{Finders, MailSettings, Person};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream, UdpSocket};

use super::told;
use crate::support::client;

const MX: u16 = 15;
const A: u16 = 1;

/// What the name server knows of a name: its records, or the code of its failure.
fn zone(name: &str, kind: u16) -> Result<Vec<Vec<u8>>, u8> {
    let mx = |preference: u8, host: &str| [vec![0, preference], encoded(host)].concat();
    match (name, kind) {
        ("nope.test", _) => Err(3),
        ("broken.test", _) => Err(2),
        ("nullmx.test", MX) => Ok(vec![vec![0, 0, 0]]),
        ("inside.test", MX) => Ok(vec![mx(10, "inside-mx.test")]),
        ("inside-mx.test", A) => Ok(vec![vec![10, 0, 0, 1]]),
        ("second.test", MX) => Ok(vec![mx(20, "mx.test"), mx(10, "dead-mx.test")]),
        ("dead-mx.test", A) => Ok(vec![vec![127, 0, 0, 9]]),
        ("mx.test" | "implicit.test", A) => Ok(vec![vec![127, 0, 0, 1]]),
        ("implicit.test" | "nothing.test" | "mx.test", _) => Ok(vec![]),
        (_, MX) => Ok(vec![mx(10, "mx.test")]),
        _ => Ok(vec![]),
    }
}

fn encoded(name: &str) -> Vec<u8> {
    let labels = name.split('.').flat_map(|label| {
        std::iter::once(u8::try_from(label.len()).unwrap()).chain(label.bytes()).collect::<Vec<u8>>()
    });
    labels.chain([0]).collect()
}

pub(crate) async fn name_server() -> std::net::SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    tokio::spawn(async move {
        let mut query = [0; 512];
        while let Ok((_, from)) = socket.recv_from(&mut query).await {
            socket.send_to(&answer(&query), from).await.unwrap();
        }
    });
    address
}

fn answer(query: &[u8]) -> Vec<u8> {
    let mut place = 12;
    let mut labels = Vec::new();
    while query[place] > 0 {
        let end = place + 1 + usize::from(query[place]);
        labels.push(String::from_utf8_lossy(&query[place + 1..end]).to_lowercase());
        place = end;
    }
    let kind = u16::from_be_bytes([query[place + 1], query[place + 2]]);
    let (code, records) = match zone(&labels.join("."), kind) {
        Ok(records) => (0, records),
        Err(code) => (code, vec![]),
    };
    let count = u8::try_from(records.len()).unwrap();
    let head = [query[0], query[1], 0x81, 0x80 | code, 0, 1, 0, count, 0, 0, 0, 0];
    let mut answer = [&head[..], &query[12..place + 5]].concat();
    for record in records {
        let [high, low] = kind.to_be_bytes();
        answer.extend([0xc0, 12, high, low, 0, 1, 0, 0, 0, 60, 0, u8::try_from(record.len()).unwrap()]);
        answer.extend(record);
    }
    answer
}

/// What the mail server says to a recipient.
fn recipient(email: &str) -> &'static str {
    let (local, domain) = email.split_once('@').unwrap();
    let is_real = ["ada.lovelace", "alovelace"].contains(&local);
    match domain {
        "catchall.test" => "250 OK",
        "grey.test" => "451 4.7.1 Greylisted, come again",
        "policy.test" => "554 5.7.1 We know you",
        "initial.test" if local == "alovelace" => "250 OK",
        "strict.test" if local == "ada" => "421 Too many unknown recipients",
        "stranger.test" | "initial.test" | "strict.test" => "550 No such user",
        _ if is_real => "250 2.1.5 OK",
        _ => "550 5.1.1 No such user",
    }
}

/// How a mail server behaves before it comes to recipients.
#[derive(Clone, Copy)]
enum Manner {
    Polite,
    /// Speaks the old dialect only.
    Old,
    NoSender,
    Refusing,
    Silent,
    Endless,
    Garbage,
    HangingUp,
}

struct MailServer {
    port: u16,
    heard: Arc<Mutex<Vec<String>>>,
}

async fn mail_server(manner: Manner) -> MailServer {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&heard);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // The client may hang up whenever it likes.
            _ = connection(stream, manner, &log).await;
        }
    });
    MailServer { port, heard }
}

async fn connection(stream: TcpStream, manner: Manner, heard: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    match manner {
        Manner::Silent => std::future::pending().await,
        Manner::Refusing => stream.write_all(b"554 No\r\n").await?,
        Manner::Garbage => stream.write_all(b"\xff\xfe hello?\r\n").await?,
        Manner::HangingUp => return Ok(()),
        Manner::Endless => loop {
            stream.write_all(&[b'2'; 10_000]).await?;
        },
        _ => stream.write_all(b"220-Welcome\r\n220 to mx.test\r\n").await?,
    }
    let mut line = String::new();
    while stream.read_line(&mut line).await? > 0 {
        let said = std::mem::take(&mut line).trim().to_owned();
        heard.lock().unwrap().push(said.clone());
        let reply = match said.split([' ', ':']).next().unwrap() {
            "EHLO" if matches!(manner, Manner::Old) => "502 What?",
            "EHLO" => "250-mx.test\r\n250-SIZE 1000\r\n250 PIPELINING",
            "MAIL" if matches!(manner, Manner::NoSender) => "550 5.7.1 Who are you",
            "HELO" | "MAIL" => "250 OK",
            "RCPT" => recipient(said.trim_start_matches("RCPT TO:<").trim_end_matches('>')),
            _ => "221 Bye",
        };
        stream.write_all(format!("{reply}\r\n").as_bytes()).await?;
    }
    Ok(())
}

async fn finders(port: u16, allow: &str) -> Finders {
    let settings = MailSettings {
        name_servers: vec![name_server().await],
        smtp_port: port,
        step_time_max: Duration::from_millis(500),
        chance: || 0xfeed,
    };
    Finders::with_mail(client(allow), settings)
}

async fn outcome(finders: &Finders, domain: &str) -> String {
    let ada = Person::new("Ada", "Lovelace", "", domain).unwrap();
    told(finders.find_by_pattern(&ada, &()).await)
}

#[tokio::test]
async fn each_domain_has_its_outcome() {
    let server = mail_server(Manner::Polite).await;
    let finders = finders(server.port, "127.0.0.0/8").await;
    for (domain, expected) in [
        ("acme.test", "hit ada.lovelace@acme.test verified 95"),
        ("initial.test", "hit alovelace@initial.test verified 95"),
        ("implicit.test", "hit ada.lovelace@implicit.test verified 95"),
        ("second.test", "hit ada.lovelace@second.test verified 95"),
        ("catchall.test", "hit ada.lovelace@catchall.test unverified 40"),
        ("grey.test", "hit ada.lovelace@grey.test unverified 30"),
        ("policy.test", "hit ada.lovelace@policy.test unverified 30"),
        ("strict.test", "hit ada@strict.test unverified 30"),
        ("stranger.test", "miss"),
        ("nullmx.test", "miss"),
        ("nothing.test", "miss"),
        ("nope.test", "miss"),
        ("broken.test", "provider_error, again"),
        ("inside.test", "blocked"),
    ] {
        assert_eq!(outcome(&finders, domain).await, expected, "{domain}");
    }
}

#[tokio::test]
async fn nothing_is_sent() {
    let server = mail_server(Manner::Polite).await;
    outcome(&finders(server.port, "127.0.0.1/32").await, "acme.test").await;
    let expected = [
        "EHLO [127.0.0.1]",
        "MAIL FROM:<>",
        "RCPT TO:<q000000000000feed@acme.test>",
        "RCPT TO:<ada.lovelace@acme.test>",
    ];
    let heard = server.heard.lock().unwrap().clone();
    assert_eq!(heard.get(..4).unwrap(), expected);
    assert!(heard.get(4).is_none_or(|line| line == "QUIT"));
}

#[tokio::test]
async fn servers_that_do_not_talk_leave_a_guess() {
    for (manner, confidence) in [
        (Manner::Old, "verified 95"),
        (Manner::NoSender, "unverified 30"),
        (Manner::Refusing, "unverified 30"),
        (Manner::Silent, "unverified 20"),
        (Manner::Endless, "unverified 20"),
        (Manner::Garbage, "unverified 20"),
        (Manner::HangingUp, "unverified 20"),
    ] {
        let server = mail_server(manner).await;
        let found = outcome(&finders(server.port, "127.0.0.1/32").await, "acme.test").await;
        assert_eq!(found, format!("hit ada.lovelace@acme.test {confidence}"));
    }
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let finders = finders(closed, "127.0.0.1/32").await;
    assert_eq!(outcome(&finders, "acme.test").await, "hit ada.lovelace@acme.test unverified 20");
    assert_eq!(outcome(&finders, "implicit.test").await, "miss");
}

#[tokio::test]
async fn a_private_mail_server_is_left_alone() {
    let server = mail_server(Manner::Polite).await;
    assert_eq!(outcome(&finders(server.port, "").await, "acme.test").await, "blocked");
    assert!(server.heard.lock().unwrap().is_empty());
}
