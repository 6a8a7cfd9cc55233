//! A guest of an event, as the event platform tells it and as Rowmill keeps it.
//!
//! The platform has sent payloads of two generations; both are brought to one shape, which is the JSON
//! object in the row's input cell.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value};

/// What a delivery is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivery {
    Guest(Box<GuestEvent>),
    /// A type that makes and changes no rows.
    Ignored,
}

/// A guest registered or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestEvent {
    pub guest_id: String,
    pub event_id: String,
    /// Unix milliseconds; none if the platform did not say.
    pub created_at_ms: Option<i64>,
    pub payload: Payload,
}

/// The normalized payload. Texts that are absent are `""`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Payload {
    /// The guest's id.
    pub api_id: String,
    pub user_email: String,
    pub approval_status: String,
    pub registered_at: String,
    pub event_id: String,
    pub event_name: String,
    pub guest: Guest,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Guest {
    pub api_id: String,
    pub email: String,
    pub name: String,
    pub first_name: String,
    pub last_name: String,
}

/// A body that is no delivery, or a guest event without its ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("Invalid payload")]
pub struct InvalidPayload;

impl Delivery {
    pub fn read(body: &Value) -> Result<Self, InvalidPayload> {
        let kind = body.get("type").and_then(Value::as_str).ok_or(InvalidPayload)?;
        let data = body.get("data").and_then(Value::as_object).ok_or(InvalidPayload)?;
        match kind {
            // The platform sends either for a new guest and for a changed one.
            "guest.registered" | "guest.updated" => {
                GuestEvent::read(body, data).map(Box::new).map(Self::Guest)
            }
            _ => Ok(Self::Ignored),
        }
    }
}

impl GuestEvent {
    fn read(body: &Value, data: &Map<String, Value>) -> Result<Self, InvalidPayload> {
        let none = Map::new();
        let part = |name: &str| data.get(name).and_then(Value::as_object).unwrap_or(&none);
        let (guest, event) = (part("guest"), part("event"));
        let guest_id = first(&[(guest, "api_id"), (guest, "id"), (data, "api_id"), (data, "id")]);
        let event_id = first(&[(event, "api_id"), (event, "id"), (data, "event_id")]);
        if guest_id.is_empty() || event_id.is_empty() {
            return Err(InvalidPayload);
        }
        let email = first(&[(guest, "email"), (guest, "user_email"), (data, "user_email")]);
        let names = Names {
            name: first(&[(guest, "name"), (data, "user_name")]),
            first: first(&[(guest, "first_name"), (data, "user_first_name")]),
            last: first(&[(guest, "last_name"), (data, "user_last_name")]),
        };
        let Names { name, first: first_name, last: last_name } = names.completed();
        let payload = Payload {
            api_id: guest_id.clone(),
            user_email: first(&[(data, "user_email"), (guest, "user_email"), (guest, "email")]),
            approval_status: first(&[(data, "approval_status"), (guest, "approval_status")]),
            registered_at: first(&[(data, "registered_at"), (guest, "registered_at")]),
            event_id: event_id.clone(),
            event_name: first(&[(event, "name"), (data, "event_name")]),
            guest: Guest { api_id: guest_id.clone(), email, name, first_name, last_name },
        };
        let created_at_ms = body.get("created_at").and_then(Value::as_str).and_then(moment);
        Ok(Self { guest_id, event_id, created_at_ms, payload })
    }
}

struct Names {
    name: String,
    first: String,
    last: String,
}

impl Names {
    /// Fills in what is missing: the whole from its parts, the parts from the whole.
    fn completed(self) -> Self {
        let Self { mut name, mut first, mut last } = self;
        if name.is_empty() {
            name = format!("{first} {last}").trim().to_owned();
        }
        let (head, rest) = name.split_once(char::is_whitespace).unwrap_or((&name, ""));
        if first.is_empty() && last.is_empty() {
            (first, last) = (head.to_owned(), rest.trim().to_owned());
        } else if first.is_empty() {
            first = name.strip_suffix(&last).unwrap_or(head).trim().to_owned();
        } else if last.is_empty() {
            last = name.strip_prefix(&first).unwrap_or(rest).trim().to_owned();
        }
        Self { name, first, last }
    }
}

/// The first of these fields that holds something; a number counts as its digits.
fn first(places: &[(&Map<String, Value>, &str)]) -> String {
    let text = |(object, field): &(&Map<String, Value>, &str)| match object.get(*field)? {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    places.iter().find_map(text).unwrap_or_default()
}

fn moment(text: &str) -> Option<i64> {
    text.parse::<Timestamp>().ok().map(Timestamp::as_millisecond)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn payload(body: &Value) -> Value {
        match Delivery::read(body) {
            Ok(Delivery::Guest(event)) => serde_json::to_value(event.payload).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn both_generations_become_one_shape() {
        let expected = json!({
            "api_id": "gst-1", "user_email": "ada@example.com", "approval_status": "approved",
            "registered_at": "2026-11-01T10:00:00Z", "event_id": "evt-1", "event_name": "Fair",
            "guest": {
                "api_id": "gst-1", "email": "ada@example.com", "name": "Ada Lovelace",
                "first_name": "Ada", "last_name": "Lovelace",
            },
        });
        let old = json!({ "type": "guest.registered", "data": {
            "api_id": "reg-9", "user_email": "ada@example.com", "approval_status": "approved",
            "registered_at": "2026-11-01T10:00:00Z", "event": { "api_id": "evt-1", "name": "Fair" },
            "guest": { "api_id": "gst-1", "email": "ada@example.com", "name": "Ada Lovelace" },
        } });
        let new = json!({ "type": "guest.updated", "data": {
            "id": "gst-1", "user_email": "ada@example.com", "user_first_name": "Ada", "user_last_name": "Lovelace",
            "approval_status": "approved", "registered_at": "2026-11-01T10:00:00Z",
            "event": { "id": "evt-1", "name": "Fair" },
        } });
        assert_eq!(payload(&old), expected);
        assert_eq!(payload(&new), expected);
    }

    #[test]
    fn ids_are_the_first_there_are() {
        let ids = |data: Value| match Delivery::read(&json!({ "type": "guest.updated", "data": data })) {
            Ok(Delivery::Guest(event)) => format!("{} {}", event.guest_id, event.event_id),
            Ok(Delivery::Ignored) => "ignored".to_owned(),
            Err(InvalidPayload) => "invalid".to_owned(),
        };
        let check = |data: Value, expected: &str| assert_eq!(ids(data), expected);
        check(
            json!({ "guest": { "api_id": "a", "id": "b" }, "api_id": "c", "id": "d", "event_id": "e" }),
            "a e",
        );
        check(json!({ "guest": { "id": "b" }, "api_id": "c", "id": "d", "event": { "id": "e" } }), "b e");
        check(
            json!({ "api_id": "c", "id": "d", "event": { "api_id": "e", "id": "f" }, "event_id": "g" }),
            "c e",
        );
        check(json!({ "id": 7, "event_id": "g" }), "7 g");
        check(json!({ "id": "", "event_id": "g" }), "invalid");
        check(json!({ "id": "d" }), "invalid");
    }

    #[test]
    fn names_are_derived_from_each_other() {
        let check = |name: &str, first: &str, last: &str, expected: [&str; 3]| {
            let body = json!({ "type": "guest.updated", "data": { "id": "g", "event_id": "e",
                "user_name": name, "user_first_name": first, "user_last_name": last } });
            let guest = payload(&body)["guest"].clone();
            assert_eq!([&guest["name"], &guest["first_name"], &guest["last_name"]], expected);
        };
        check("", "Ada", "King Noel", ["Ada King Noel", "Ada", "King Noel"]);
        check("Ada King Noel", "", "", ["Ada King Noel", "Ada", "King Noel"]);
        check("Ada", "", "", ["Ada", "Ada", ""]);
        check("Ada Maria King", "Ada Maria", "", ["Ada Maria King", "Ada Maria", "King"]);
        check("Ada Maria King", "", "King", ["Ada Maria King", "Ada Maria", "King"]);
        check("", "Ada", "", ["Ada", "Ada", ""]);
        check("", "", "", ["", "", ""]);
    }

    #[test]
    fn what_is_no_delivery_is_refused_and_other_types_are_ignored() {
        for body in [
            json!(null),
            json!([]),
            json!({}),
            json!({ "type": 1, "data": {} }),
            json!({ "type": "x" }),
            json!({ "type": "x", "data": [] }),
            json!({ "type": "guest.registered", "data": {} }),
        ] {
            assert_eq!(Delivery::read(&body), Err(InvalidPayload), "{body}");
        }
        for kind in ["ticket.registered", "event.created", ""] {
            assert_eq!(Delivery::read(&json!({ "type": kind, "data": {} })), Ok(Delivery::Ignored));
        }
    }

    #[test]
    fn the_time_of_an_event_is_read_if_it_is_one() {
        let time = |created_at: Value| match Delivery::read(
            &json!({ "type": "guest.updated", "created_at": created_at, "data": { "id": "g", "event_id": "e" } }),
        ) {
            Ok(Delivery::Guest(event)) => event.created_at_ms,
            other => panic!("{other:?}"),
        };
        assert_eq!(time(json!("1970-01-01T00:00:01.5+00:00")), Some(1_500));
        assert_eq!(time(json!("1970-01-01T01:00:01+01:00")), Some(1_000));
        assert_eq!(time(json!("yesterday")), None);
        assert_eq!(time(json!(null)), None);
    }
}
