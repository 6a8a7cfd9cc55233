//! Connects the application's thumbnails to the engine, which makes them.

use async_trait::async_trait;
use rowmill_app::{Thumbnail, Thumbnailer};
use rowmill_engine::Thumbnails;
use rowmill_model::TeamId;
use rowmill_providers::scrape::ThumbnailType;

#[derive(Debug)]
pub(crate) struct EngineThumbnailer(pub(crate) Thumbnails);

#[async_trait]
impl Thumbnailer for EngineThumbnailer {
    async fn thumbnail(&self, team: TeamId, address: &str) -> Result<Thumbnail, String> {
        match self.0.of(team, address).await {
            Ok(made) => Ok(Thumbnail { is_png: made.media == ThumbnailType::Png, bytes: made.bytes.clone() }),
            Err(failure) => Err(failure.message.clone()),
        }
    }
}
