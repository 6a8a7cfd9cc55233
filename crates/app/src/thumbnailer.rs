//! The seam to what makes thumbnails: the application does not fetch images itself.

use std::fmt;

use async_trait::async_trait;
use bytes::Bytes;
use rowmill_model::TeamId;

/// Makes thumbnails. The binary sets it when it starts.
#[async_trait]
pub trait Thumbnailer: fmt::Debug + Send + Sync + 'static {
    /// The thumbnail of the image at an address, or why there is none, as a sentence.
    async fn thumbnail(&self, team: TeamId, address: &str) -> Result<Thumbnail, String>;
}

/// A small version of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thumbnail {
    /// PNG if true, else JPEG.
    pub is_png: bool,
    pub bytes: Bytes,
}
