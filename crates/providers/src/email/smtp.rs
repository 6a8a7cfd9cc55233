//! As much of SMTP as it takes to ask a mail server whether it would take mail for somebody (RFC 5321).

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The standard allows 512.
const LINE_BYTES_MAX: u64 = 2_048;
const LINES_MAX: usize = 100;
/// Where mail servers cannot be reached at all, each search waits this long for each of them.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);

/// A talk with a mail server, from which nobody gets mail.
pub(super) struct SmtpConnection {
    stream: BufReader<TcpStream>,
    step_time_max: Duration,
    /// Why it cannot go on: the server wants no talk with us, or is gone.
    is_over: bool,
}

/// What a server says to a recipient.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reply {
    Yes,
    /// There is nobody of that name.
    No,
    /// Not now, not to us, or not at all.
    Unknown,
}

impl SmtpConnection {
    /// Greets the server; `None` if it cannot be reached or is no mail server.
    pub(super) async fn begin(address: SocketAddr, step_time_max: Duration) -> Option<Self> {
        let stream =
            timeout(step_time_max.min(CONNECT_TIME_MAX), TcpStream::connect(address)).await.ok()?.ok()?;
        // An address is a name that needs no name server.
        let here = stream.local_addr().ok()?.ip();
        let name = if here.is_ipv4() { format!("[{here}]") } else { format!("[IPv6:{here}]") };
        let mut connection = Self { stream: BufReader::new(stream), step_time_max, is_over: false };
        let greeting = connection.read().await.ok()?;
        connection.is_over = greeting.code != 220;
        if !connection.is_over && connection.say(&format!("EHLO {name}")).await.code != 250 {
            connection.is_over = connection.say(&format!("HELO {name}")).await.code != 250;
        }
        // The empty sender of bounces: nothing comes back to it.
        if !connection.is_over {
            connection.is_over = connection.say("MAIL FROM:<>").await.code != 250;
        }
        Some(connection)
    }

    /// Whether the server would take mail for this address, which holds letters of addresses only.
    pub(super) async fn would_take(&mut self, email: &str) -> Reply {
        if self.is_over {
            return Reply::Unknown;
        }
        meaning(&self.say(&format!("RCPT TO:<{email}>")).await)
    }

    /// Takes leave, without waiting for an answer.
    pub(super) async fn end(mut self) {
        _ = timeout(self.step_time_max, self.stream.write_all(b"QUIT\r\n")).await;
    }

    /// Says a line and hears the answer; a server that does not answer has ended the talk.
    async fn say(&mut self, line: &str) -> Answer {
        let line = format!("{line}\r\n");
        let sent = timeout(self.step_time_max, self.stream.write_all(line.as_bytes())).await;
        let answer = match sent {
            Ok(Ok(())) => self.read().await,
            _ => Err(io::ErrorKind::TimedOut.into()),
        };
        let answer = answer.unwrap_or(Answer { code: 421, text: String::new() });
        // "Service not available, closing": whatever else is said is not heard.
        self.is_over |= answer.code == 421;
        answer
    }

    async fn read(&mut self) -> io::Result<Answer> {
        let step_time_max = self.step_time_max;
        timeout(step_time_max, self.read_lines())
            .await
            .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }

    /// An answer of lines that begin `250-`, up to one that begins `250 `.
    async fn read_lines(&mut self) -> io::Result<Answer> {
        for _ in 0..LINES_MAX {
            let mut line = Vec::new();
            (&mut self.stream).take(LINE_BYTES_MAX).read_until(b'\n', &mut line).await?;
            if line.last() != Some(&b'\n') {
                break;
            }
            let line = String::from_utf8_lossy(&line);
            let (code, rest) = line.split_at_checked(3).ok_or(io::ErrorKind::InvalidData)?;
            let code = code.parse().map_err(|_| io::ErrorKind::InvalidData)?;
            if !rest.starts_with('-') {
                return Ok(Answer { code, text: rest.trim().to_owned() });
            }
        }
        Err(io::ErrorKind::InvalidData.into())
    }
}

#[derive(Debug)]
struct Answer {
    code: u16,
    /// Of the last line, with the finer status in front if there is one (RFC 3463).
    text: String,
}

fn meaning(answer: &Answer) -> Reply {
    let status = answer.text.split_whitespace().next().unwrap_or_default();
    // 5.7: a matter of policy, 5.3 and 5.4: of the machine. Neither is about the person.
    let is_about_us = ["5.3.", "5.4.", "5.5.", "5.7."].iter().any(|class| status.starts_with(class));
    let is_about_person = ["5.1.", "5.2."].iter().any(|class| status.starts_with(class));
    match answer.code {
        250 | 251 => Reply::Yes,
        550 | 551 | 553 if !is_about_us && !blames_us(&answer.text) => Reply::No,
        500..600 if is_about_person => Reply::No,
        _ => Reply::Unknown,
    }
}

/// Servers without finer statuses say it in words.
fn blames_us(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    ["spam", "block", "blacklist", "denied", "policy", "reputation", "dnsbl", "rbl", "reverse dns", "banned"]
        .iter()
        .any(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_about_the_person_or_about_us() {
        for (code, text, expected) in [
            (250, "2.1.5 OK", Reply::Yes),
            (251, "User not local; will forward", Reply::Yes),
            (252, "Cannot verify", Reply::Unknown),
            (421, "Too busy", Reply::Unknown),
            (450, "4.2.0 Greylisted", Reply::Unknown),
            (451, "4.7.1 Try again later", Reply::Unknown),
            (452, "4.5.3 Too many recipients", Reply::Unknown),
            (550, "5.1.1 No such user", Reply::No),
            (550, "No such user here", Reply::No),
            (550, "5.7.1 Relaying denied", Reply::Unknown),
            (550, "Blocked by spam filter", Reply::Unknown),
            (553, "Mailbox name not allowed", Reply::No),
            (554, "5.7.1 Service unavailable", Reply::Unknown),
            (554, "5.1.1 No such user", Reply::No),
            (554, "Go away", Reply::Unknown),
            (354, "What?", Reply::Unknown),
        ] {
            assert_eq!(meaning(&Answer { code, text: text.to_owned() }), expected, "{code} {text}");
        }
    }
}
