//! What a caller can do about a failure. `api` maps these to statuses, in one table.

use std::net::IpAddr;

use rowmill_model::limits::OFFENCES_MAX;
use rowmill_model::{Offence, Scope};

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The request itself is wrong: 400, with every offence.
    #[error("{message}")]
    Invalid { message: String, details: Vec<Offence> },
    /// More than a limit allows: 400, naming the limit.
    #[error("{message}")]
    LimitExceeded { message: String, details: Vec<Offence> },
    /// More than the operator lets a team store: 400, naming the quota.
    #[error("{0}")]
    QuotaExceeded(String),
    /// No bearer token.
    #[error("Bearer token is required")]
    Unauthenticated,
    #[error("Invalid API key")]
    InvalidKey,
    /// The key is right, but its time is over.
    #[error("Invalid API key: it expired at {0}. Use another key, or have somebody rotate this one")]
    KeyExpired(String),
    /// The key is right, but not from there.
    #[error(
        "This API key cannot be used from the address {0}, which is not in its allowFrom; call from an allowed address, \
         or use another key"
    )]
    AddressNotAllowed(IpAddr),
    /// The key is right, but may not do this.
    #[error(
        "This API key lacks the scope {:?}; use a key that has it, or create one under Settings, API keys (scopes of a \
         key cannot be changed)", .0.word()
    )]
    MissingScope(Scope),
    /// The key is right, but only for some projects.
    #[error(
        "This API key is limited to some projects, and this concerns the whole team; use a key without projectIds"
    )]
    LimitedToProjects,
    #[error("API is not enabled for this project")]
    ApiDisabled,
    /// Its rows are not all there yet.
    #[error(
        "This project is a copy whose rows are still being copied; wait until `copying` is gone from it, or delete it to \
         cancel the copy"
    )]
    Copying,
    /// Only the team that runs the installation may.
    #[error("Only API keys of the first team of this installation can list and create teams")]
    NotOperator,
    /// Nothing of that name, or nothing of this team's.
    #[error("{0} not found")]
    NotFound(Noun),
    /// Some of what the body names does not exist: 404, naming each.
    #[error("{noun} not found")]
    SomeNotFound { noun: Noun, details: Vec<Offence> },
    /// The cell names an image, and nothing can be shown of it.
    #[error("{0}")]
    ImageUnavailable(String),
    /// A webhook address without the id of a team.
    #[error("Missing teamId")]
    MissingTeamId,
    /// A webhook body that is no delivery.
    #[error("Invalid payload")]
    InvalidPayload,
    /// A body of a type that nothing can be read from.
    #[error("{0}")]
    UnreadableType(String),
    /// A delivery that no project took, because its signature is missing, wrong or old.
    #[error("Invalid signature")]
    InvalidSignature,
    /// What was to be changed is not what the caller has seen: 412.
    #[error(
        "{0} changed meanwhile: its ETag is not the one in If-Match. Nothing was written; read it again, and repeat the \
         change with the new ETag"
    )]
    ChangedMeanwhile(Noun),
    /// An idempotency key was used before, with another request.
    #[error("This Idempotency-Key was already used for a different request; use a new key")]
    IdempotencyConflict,
    /// As many readers of events as there may be.
    #[error(
        "Too many event streams are open (eventStreamsMax, eventStreamsPerTeamMax); close one, or try again later"
    )]
    TooManyFeeds,
    /// A read went on for longer than a read may.
    #[error("The read exceeded the time limit (readSecondsMax); request fewer rows, or try again later")]
    TooLong,
    /// There is no room on the database's disk. Nothing was written.
    #[error("The storage is full, so nothing was saved ({0}); try again when the operator has freed space")]
    StorageFull(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The database's disk is read-only or reports errors.
    #[error(
        "The storage does not work ({0}), so the request failed; try again when the operator has repaired it"
    )]
    StorageFailed(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// What is stored is not what was written.
    #[error(
        "The database is damaged ({0}), so no answer would be reliable; the operator should stop the server and restore \
         a backup"
    )]
    Damaged(String),
    /// The database is away for now. Nothing was written.
    #[error("The database is unavailable; try again later")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The database was lost while the request was carried out.
    #[error(
        "The connection to the database was lost during the write, so it may or may not have been saved; \
         check before you retry, or retry with an Idempotency-Key"
    )]
    InDoubt(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Told to balancers, so that they send requests elsewhere.
    #[error("This server is shutting down; send the request to another server")]
    Stopping,
    /// Not the caller's fault. The cause goes to the log, never to the caller.
    #[error("internal error")]
    Internal(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// What was not found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noun {
    Team,
    Project,
    Column,
    Row,
    View,
    Run,
    Provider,
    Secret,
    Key,
    Session,
    Import,
    Webhook,
    Delivery,
    Hook,
    /// The image that a cell names.
    Image,
}

impl std::fmt::Display for Noun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Team => "Team",
            Self::Project => "Project",
            Self::Column => "Column",
            Self::Row => "Row",
            Self::View => "View",
            Self::Run => "Run",
            Self::Provider => "Provider",
            Self::Secret => "Secret",
            Self::Key => "Key",
            Self::Session => "Session",
            Self::Import => "Import",
            Self::Webhook => "Webhook",
            Self::Delivery => "Delivery",
            Self::Hook => "Hook",
            Self::Image => "Image",
        })
    }
}

impl Error {
    pub fn invalid(details: Vec<Offence>) -> Self {
        Self::Invalid { message: summary(&details), details }
    }

    /// The same failure, told as going beyond a limit.
    pub(crate) fn into_limit(self) -> Self {
        match self {
            Self::Invalid { message, details } => Self::LimitExceeded { message, details },
            other => other,
        }
    }

    /// The failure of a request of which this much was known to be wrong. A failure of another kind is not told: what is
    /// wrong with the request comes first.
    #[must_use]
    pub fn among(self, known: Vec<Offence>) -> Self {
        let is_limit = matches!(self, Self::LimitExceeded { .. });
        let mut details = known;
        match self {
            Self::Invalid { details: more, .. } | Self::LimitExceeded { details: more, .. } => {
                let news: Vec<_> = more.into_iter().filter(|offence| !details.contains(offence)).collect();
                details.extend(news);
            }
            // Of a project that cannot be used nothing else is told.
            other @ (Self::ApiDisabled | Self::NotFound(Noun::Project)) => return other,
            other if details.is_empty() => return other,
            _ => {}
        }
        details.truncate(OFFENCES_MAX);
        let invalid = Self::invalid(details);
        if is_limit { invalid.into_limit() } else { invalid }
    }

    /// The same failure with other paths, for something inside what was sent.
    #[must_use]
    pub fn with_paths(self, place: impl Fn(String) -> String) -> Self {
        let inside = |details: Vec<Offence>| -> Vec<Offence> {
            details.into_iter().map(|Offence { path, message }| Offence::new(place(path), message)).collect()
        };
        match self {
            Self::Invalid { details, .. } => Self::invalid(inside(details)),
            Self::LimitExceeded { details, .. } => Self::invalid(inside(details)).into_limit(),
            other => other,
        }
    }

    pub fn limit(path: impl Into<String>, message: impl Into<String>) -> Self {
        let details = vec![Offence::new(path, message)];
        Self::LimitExceeded { message: summary(&details), details }
    }
}

/// One sentence for a list of offences: the first, and how many more there are.
fn summary(details: &[Offence]) -> String {
    match details {
        [] => "The request is not valid".to_owned(),
        [first, rest @ ..] => {
            let place = if first.path.is_empty() { String::new() } else { format!("{}: ", first.path) };
            let more = if rest.is_empty() { String::new() } else { format!(" (and {} more)", rest.len()) };
            format!("{place}{}{more}", first.message)
        }
    }
}

impl From<rowmill_store::StoreError> for Error {
    fn from(error: rowmill_store::StoreError) -> Self {
        use rowmill_store::StoreError;
        match error {
            StoreError::UnknownProject => Self::NotFound(Noun::Project),
            StoreError::OnceConflict => Self::IdempotencyConflict,
            StoreError::UnknownRows(_) => Self::NotFound(Noun::Row),
            StoreError::TooLong => Self::TooLong,
            StoreError::StorageFull(cause) => Self::StorageFull(cause),
            StoreError::StorageFailed(cause) => Self::StorageFailed(cause),
            StoreError::Damaged(what) => Self::Damaged(what),
            StoreError::Unavailable(cause) => Self::Unavailable(cause),
            StoreError::InDoubt(cause) => Self::InDoubt(cause),
            other => Self::Internal(other.into()),
        }
    }
}

impl From<rowmill_model::record::Damaged> for Error {
    fn from(damaged: rowmill_model::record::Damaged) -> Self {
        Self::Damaged(damaged.to_string())
    }
}
