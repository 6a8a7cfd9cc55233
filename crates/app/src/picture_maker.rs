//! Who makes pictures small, which the application does not do itself.

use std::fmt;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use rowmill_model::TeamId;

/// Whoever makes pictures small: the binary says who that is.
#[async_trait]
pub trait PictureMaker: fmt::Debug + Send + Sync + 'static {
    /// The picture at an address, or why there is none, as a sentence.
    async fn thumbnail(&self, team: TeamId, address: &str) -> Result<Picture, String>;
}

/// A small picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// PNG if true, else JPEG.
    pub is_png: bool,
    pub bytes: Arc<[u8]>,
}

/// Who makes them, once that is known.
#[derive(Debug, Default)]
pub(crate) struct Pictures(pub(crate) OnceLock<Arc<dyn PictureMaker>>);
