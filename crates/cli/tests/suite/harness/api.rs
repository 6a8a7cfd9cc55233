//! The API as a client sees it: every call is judged by the document.

use std::io::Read as _;
use std::sync::Arc;

use serde_json::{Value, json};

use super::document::Document;
use super::http::{self, Request, Response};
use super::table::Table;

/// Which way of writing paths a scenario uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    V4,
    /// With the team's slug in the path.
    V3,
}

/// A server, and the key to it.
#[derive(Clone)]
pub(crate) struct Api {
    pub(crate) address: String,
    pub(crate) version: Version,
    slug: String,
    key: Option<String>,
    document: Arc<Document>,
}

impl Api {
    pub(crate) fn new(address: &str, key: Option<String>, document: Arc<Document>) -> Self {
        Self { address: address.to_owned(), version: Version::V4, slug: "default".to_owned(), key, document }
    }

    /// The same service at another address.
    pub(crate) fn at(self, address: &str) -> Self {
        Self { address: address.to_owned(), ..self }
    }

    pub(crate) fn in_version(self, version: Version) -> Self {
        Self { version, ..self }
    }

    /// As it is seen by a member of another team than `default`.
    pub(crate) fn of_team(self, slug: &str) -> Self {
        Self { slug: slug.to_owned(), ..self }
    }

    /// The path of something in a project: `path_in(id, "/rows")`.
    pub(crate) fn path_in(&self, project: &str, rest: &str) -> String {
        match self.version {
            Version::V4 => format!("/v4/projects/{project}{rest}"),
            Version::V3 => format!("/v3/{}/{project}{rest}", self.slug),
        }
    }

    /// A new project with manual columns.
    pub(crate) fn table(&self, headers: &[&str]) -> Table {
        let columns: Vec<Value> =
            headers.iter().map(|header| json!({ "templateId": "manual", "header": header })).collect();
        self.table_of(json!({ "title": "Test", "columns": columns }))
    }

    /// A new project.
    pub(crate) fn table_of(&self, body: Value) -> Table {
        let made = self.post("/v4/projects", body).created();
        Table::new(self.clone(), &made["project"])
    }

    pub(crate) fn document(&self) -> &Value {
        self.document.root()
    }

    pub(crate) fn get(&self, path: impl Into<String>) -> Answer {
        self.send(Request::get(path))
    }

    pub(crate) fn post(&self, path: impl Into<String>, body: Value) -> Answer {
        self.send(Request::post(path).json(&body))
    }

    pub(crate) fn patch(&self, path: impl Into<String>, body: Value) -> Answer {
        self.send(Request::new("PATCH", path).json(&body))
    }

    pub(crate) fn delete(&self, path: impl Into<String>) -> Answer {
        self.send(Request::new("DELETE", path))
    }

    /// The answer, as the document promises it.
    #[track_caller]
    pub(crate) fn send(&self, request: Request) -> Answer {
        let told = format!("{} {}", request.method, request.path);
        self.try_send(request).unwrap_or_else(|error| panic!("{told}: {error}"))
    }

    /// The same where the server may be gone.
    #[track_caller]
    pub(crate) fn try_send(&self, request: Request) -> std::io::Result<Answer> {
        let request = self.with_key(request);
        let response = http::exchange(&self.address, &request)?;
        Ok(self.judged(&request, response))
    }

    pub(crate) fn with_key(&self, request: Request) -> Request {
        let has_own = request.headers.iter().any(|(name, _)| name == "Authorization");
        match &self.key {
            Some(key) if !has_own => request.header("Authorization", &format!("Bearer {key}")),
            _ => request,
        }
    }

    #[track_caller]
    pub(crate) fn judged(&self, request: &Request, response: Response) -> Answer {
        let bytes = decoded(&response);
        let is_image = response.header("content-type").is_some_and(|media| media.starts_with("image/"));
        let text = if is_image { String::from_utf8_lossy(&bytes).into_owned() } else { utf8(bytes) };
        self.document.judge(request, &response, &text);
        let json = serde_json::from_str(&text).unwrap_or_default();
        Answer { told: format!("{} {}", request.method, request.path), response, text, json }
    }
}

/// What came back.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    told: String,
    response: Response,
    pub(crate) text: String,
    pub(crate) json: Value,
}

impl Answer {
    pub(crate) fn status(&self) -> u16 {
        self.response.status
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.response.header(name)
    }

    pub(crate) fn headers(&self, name: &str) -> String {
        self.response.headers(name)
    }

    /// The bytes as they came over the wire.
    pub(crate) fn raw(&self) -> &[u8] {
        &self.response.body
    }

    #[track_caller]
    pub(crate) fn ok(self) -> Value {
        self.success(200)
    }

    #[track_caller]
    pub(crate) fn created(self) -> Value {
        self.success(201)
    }

    #[track_caller]
    pub(crate) fn success(self, status: u16) -> Value {
        assert_eq!(self.status(), status, "{}: {}", self.told, self.text);
        assert_eq!(self.json["success"], true, "{}: {}", self.told, self.text);
        self.json
    }

    /// Refused with this status and code.
    #[track_caller]
    pub(crate) fn refused(self, status: u16, code: &str) -> Value {
        let got = (self.status(), self.json["code"].as_str(), &self.json["success"]);
        assert_eq!(got, (status, Some(code), &Value::Bool(false)), "{}: {}", self.told, self.text);
        assert!(self.json["error"].as_str().is_some_and(|error| !error.is_empty()), "{}", self.text);
        self.json
    }

    /// Refused as invalid, with offences at exactly these places, in whichever order.
    #[track_caller]
    pub(crate) fn offends(self, paths: &[&str]) -> Value {
        let told = format!("{}: {}", self.told, self.text);
        let json = self.refused(400, "invalid_request");
        let (mut found, mut expected) = (paths_of(&json), paths.to_vec());
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "{told}");
        json
    }

    /// Refused because it goes beyond a limit, which is named.
    #[track_caller]
    pub(crate) fn exceeds(self, named: &str) -> Value {
        assert_eq!(self.status(), 400, "{}: {}", self.told, self.text);
        assert!(self.json["error"].as_str().unwrap().contains(named), "{}: {}", self.told, self.text);
        self.json
    }
}

/// Where the offences of a refusal are.
pub(crate) fn paths_of(refusal: &Value) -> Vec<&str> {
    let details = refusal["details"].as_array().map(Vec::as_slice).unwrap_or_default();
    details.iter().map(|offence| offence["path"].as_str().unwrap()).collect()
}

fn utf8(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("an answer is UTF-8")
}

fn decoded(response: &Response) -> Vec<u8> {
    let mut bytes = Vec::new();
    match response.header("content-encoding") {
        None => bytes.clone_from(&response.body),
        Some("gzip") => {
            flate2::read::GzDecoder::new(response.body.as_slice()).read_to_end(&mut bytes).expect("gzip");
        }
        Some("zstd") => bytes = zstd::decode_all(response.body.as_slice()).expect("zstd"),
        Some(other) => panic!("an encoding nobody asked for: {other}"),
    }
    bytes
}
