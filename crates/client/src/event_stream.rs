//! Server-sent events, out of the bytes they come in.

/// More than any event of ours.
const EVENT_BYTES_MAX: usize = 256 << 20;

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) data: String,
    pub(crate) id: Option<String>,
}

/// Takes parts of a stream, and gives the events that are complete.
#[derive(Debug, Default)]
pub(crate) struct EventParser {
    /// The line that has not ended yet.
    line: Vec<u8>,
    event: Event,
    has_data: bool,
}

impl EventParser {
    pub(crate) fn push(&mut self, part: &[u8]) -> Result<Vec<Event>, String> {
        let mut events = Vec::new();
        for piece in part.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() + self.event.data.len() + piece.len() > EVENT_BYTES_MAX {
                return Err("an event is too large".to_owned());
            }
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                let line = String::from_utf8_lossy(&line);
                events.extend(self.take(line.trim_end_matches(['\n', '\r'])));
            }
        }
        Ok(events)
    }

    /// An empty line ends an event.
    fn take(&mut self, line: &str) -> Option<Event> {
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            return std::mem::take(&mut self.has_data).then_some(event);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.event.name = value.to_owned(),
            "id" => self.event.id = Some(value.to_owned()),
            "data" => {
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
                self.has_data = true;
            }
            // A comment is a sign of life.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_any_parts() {
        let stream = ": hello\n\nevent: rows\ndata: {\"é\":\ndata: 1}\n\nid: 7\r\nevent:status\r\ndata:{}\r\n\r\nid: 8\n\nevent: cut\n";
        let event = |name: &str, data: &str, id: Option<&str>| Event {
            name: name.to_owned(),
            data: data.to_owned(),
            id: id.map(str::to_owned),
        };
        let expected = [event("rows", "{\"é\":\n1}", None), event("status", "{}", Some("7"))];
        for size in [1, 2, 7, stream.len()] {
            let mut parser = EventParser::default();
            let parts = stream.as_bytes().chunks(size);
            let events: Vec<Event> = parts.flat_map(|part| parser.push(part).unwrap()).collect();
            assert_eq!(events, expected, "{size}");
        }
    }
}
