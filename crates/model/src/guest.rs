//! A guest of an event, as the event platform tells it and as Rowmill keeps it.
//!
//! The platform has sent payloads of two generations; both are brought to one shape, which is the JSON
//! object in the row's input cell.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::value::{member, with_members};

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
    pub carried: CarriedFields,
}

/// What a delivery says of a guest. What it does not say is `None`, and stays as it is in a row that is there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CarriedFields {
    user_email: Option<String>,
    guest_email: Option<String>,
    approval_status: Option<String>,
    /// Only if it is an instant.
    registered_at: Option<String>,
    event_name: Option<String>,
    name: Option<String>,
    first_name: Option<String>,
    last_name: Option<String>,
}

/// The normalized payload. Texts that are absent are `""`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "GuestPayload")]
pub struct Payload {
    /// The guest's id.
    pub api_id: String,
    pub user_email: String,
    pub approval_status: String,
    /// When the guest registered, in ISO 8601.
    pub registered_at: String,
    pub event_id: String,
    pub event_name: String,
    pub guest: Guest,
}

/// The guest of an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
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
        let carried = CarriedFields {
            user_email: carried(&[(data, "user_email"), (guest, "user_email"), (guest, "email")]),
            guest_email: carried(&[(guest, "email"), (guest, "user_email"), (data, "user_email")]),
            approval_status: carried(&[(data, "approval_status"), (guest, "approval_status")]),
            registered_at: carried(&[(data, "registered_at"), (guest, "registered_at")])
                .filter(|text| moment(text).is_some()),
            event_name: carried(&[(event, "name"), (data, "event_name")]),
            name: carried(&[(guest, "name"), (data, "user_name")]),
            first_name: carried(&[(guest, "first_name"), (data, "user_first_name")]),
            last_name: carried(&[(guest, "last_name"), (data, "user_last_name")]),
        };
        let created_at = body.get("created_at").and_then(Value::as_str).filter(|text| moment(text).is_some());
        let payload = carried.payload(&guest_id, &event_id, created_at);
        let created_at_ms = created_at.and_then(moment);
        Ok(Self { guest_id, event_id, created_at_ms, payload, carried })
    }
}

impl CarriedFields {
    /// The payload of a new row. `registered_at` is empty if the delivery has no time at all.
    fn payload(&self, guest_id: &str, event_id: &str, created_at: Option<&str>) -> Payload {
        let text = |carried: &Option<String>| carried.clone().unwrap_or_default();
        let Names { name, first, last } =
            Names { name: text(&self.name), first: text(&self.first_name), last: text(&self.last_name) }
                .completed();
        Payload {
            api_id: guest_id.to_owned(),
            user_email: text(&self.user_email),
            approval_status: text(&self.approval_status),
            registered_at: self.registered_at.as_deref().or(created_at).unwrap_or_default().to_owned(),
            event_id: event_id.to_owned(),
            event_name: text(&self.event_name),
            guest: Guest {
                api_id: guest_id.to_owned(),
                email: text(&self.guest_email),
                name,
                first_name: first,
                last_name: last,
            },
        }
    }

    pub fn has_approval_status(&self) -> bool {
        self.approval_status.is_some()
    }

    /// The payload in `stored` (raw JSON) with what is carried in its place; `new` is the payload of a new row.
    /// `None` if what is stored is no payload.
    pub fn merged(&self, stored: &str, new: &str) -> Option<String> {
        let stored_guest = member(stored, "guest").filter(|guest| guest.starts_with('{'))?;
        let of_guest = |name: &str| text_of(member(stored_guest, name));
        let names = self.merged_names(&of_guest);
        let guest_changes = [
            ("email", self.guest_email.clone()),
            ("name", names.as_ref().map(|names| names.name.clone())),
            ("first_name", names.as_ref().map(|names| names.first.clone())),
            ("last_name", names.as_ref().map(|names| names.last.clone())),
        ];
        let guest = changed(stored_guest, &guest_changes)?;
        let registered_at = self.registered_at.clone().or_else(|| {
            // A row of an older version may have none.
            let is_known = moment(&text_of(member(stored, "registered_at"))).is_some();
            (!is_known).then(|| text_of(member(new, "registered_at")))
        });
        let changes = [
            ("user_email", self.user_email.clone()),
            ("approval_status", self.approval_status.clone()),
            ("registered_at", registered_at),
            ("event_name", self.event_name.clone()),
        ];
        with_members(&changed(stored, &changes)?, &[("guest", &guest)])
    }

    /// The names after this delivery, if it says anything of them.
    fn merged_names(&self, stored: &dyn Fn(&str) -> String) -> Option<Names> {
        let Self { name, first_name, last_name, .. } = self;
        if name.is_none() && first_name.is_none() && last_name.is_none() {
            return None;
        }
        // A new full name says all; a new part goes with the other part.
        let part = |sent: &Option<String>, field: &str| match (sent, name) {
            (Some(sent), _) => sent.clone(),
            (None, Some(_)) => String::new(),
            (None, None) => stored(field),
        };
        let names = Names {
            name: name.clone().unwrap_or_default(),
            first: part(first_name, "first_name"),
            last: part(last_name, "last_name"),
        };
        Some(names.completed())
    }
}

fn changed(object: &str, changes: &[(&str, Option<String>)]) -> Option<String> {
    let raw: Vec<(&str, String)> = changes
        .iter()
        .filter_map(|(name, text)| Some((*name, Value::from(text.as_deref()?).to_string())))
        .collect();
    let raw: Vec<(&str, &str)> = raw.iter().map(|(name, raw)| (*name, raw.as_str())).collect();
    with_members(object, &raw)
}

fn text_of(raw: Option<&str>) -> String {
    raw.map(|raw| crate::value::Value::parse(raw).text().into_owned()).unwrap_or_default()
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
        let words = name.trim_start();
        let (head, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
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

/// The text that the first of these fields holds: something if one does, else `""` if one is `""`.
fn carried(places: &[(&Map<String, Value>, &str)]) -> Option<String> {
    let is_text = |(object, field): &(&Map<String, Value>, &str)| {
        object.get(*field).is_some_and(|value| value.is_string() || value.is_number())
    };
    places.iter().any(is_text).then(|| first(places))
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
        check("  Ada   King Noel ", "", "", ["  Ada   King Noel ", "Ada", "King Noel"]);
        check("Ada Maria King", "Ada Maria", "", ["Ada Maria King", "Ada Maria", "King"]);
        check("Ada Maria King", "", "King", ["Ada Maria King", "Ada Maria", "King"]);
        check("", "Ada", "", ["Ada", "Ada", ""]);
        check("", "", "", ["", "", ""]);
    }

    #[test]
    fn a_partial_delivery_changes_what_it_carries() {
        let stored = json!({
            "api_id": "g", "user_email": "ada@example.com", "approval_status": "approved",
            "registered_at": "2026-11-01T10:00:00Z", "event_id": "e", "event_name": "Fair", "note": "mine",
            "guest": { "api_id": "g", "email": "ada@example.com", "name": "Ada Lovelace",
                "first_name": "Ada", "last_name": "Lovelace" },
        });
        let check = |data: Value, expected: &[(&str, &str)]| {
            let mut data = data;
            data["id"] = json!("g");
            data["event_id"] = json!("e");
            let Ok(Delivery::Guest(event)) = Delivery::read(
                &json!({ "type": "guest.updated", "created_at": "2026-11-05T00:00:00Z", "data": data }),
            ) else {
                panic!("{data}")
            };
            let new = serde_json::to_string(&event.payload).unwrap();
            let merged = event.carried.merged(&stored.to_string(), &new).unwrap();
            let mut wanted = stored.clone();
            for (pointer, text) in expected {
                *wanted.pointer_mut(pointer).unwrap() = json!(text);
            }
            assert_eq!(serde_json::from_str::<Value>(&merged).unwrap(), wanted, "{data}");
        };
        check(json!({}), &[]);
        check(json!({ "approval_status": "declined" }), &[("/approval_status", "declined")]);
        check(json!({ "approval_status": null }), &[]);
        check(
            json!({ "user_email": "a@b.example" }),
            &[("/user_email", "a@b.example"), ("/guest/email", "a@b.example")],
        );
        check(
            json!({ "user_first_name": "Augusta" }),
            &[("/guest/first_name", "Augusta"), ("/guest/name", "Augusta Lovelace")],
        );
        check(
            json!({ "user_name": "Grace Hopper" }),
            &[
                ("/guest/name", "Grace Hopper"),
                ("/guest/first_name", "Grace"),
                ("/guest/last_name", "Hopper"),
            ],
        );
        check(json!({ "registered_at": "soon" }), &[]);
        check(
            json!({ "registered_at": "2026-11-02T10:00:00Z" }),
            &[("/registered_at", "2026-11-02T10:00:00Z")],
        );
        assert_eq!(CarriedFields::default().merged("\"x\"", "{}"), None);
    }

    #[test]
    fn the_time_of_registration_is_an_instant() {
        let check = |registered_at: Value, created_at: Value, expected: &str| {
            let body = json!({ "type": "guest.updated", "created_at": created_at,
                "data": { "id": "g", "event_id": "e", "registered_at": registered_at } });
            assert_eq!(payload(&body)["registered_at"], expected);
        };
        check(json!("2026-11-02T10:00:00+01:00"), json!(null), "2026-11-02T10:00:00+01:00");
        check(json!("yesterday"), json!("2026-11-05T00:00:00Z"), "2026-11-05T00:00:00Z");
        check(json!(null), json!("2026-11-05T00:00:00Z"), "2026-11-05T00:00:00Z");
        // The time of arrival is filled in by whoever takes the delivery.
        check(json!(null), json!("now"), "");
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
