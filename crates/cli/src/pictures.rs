//! Who makes the pictures of cells small for the application.

use async_trait::async_trait;
use rowmill_app::{Picture, PictureMaker};
use rowmill_engine::Thumbnails;
use rowmill_model::TeamId;
use rowmill_providers::scrape::ThumbnailType;

#[derive(Debug)]
pub(crate) struct Pictures(pub(crate) Thumbnails);

#[async_trait]
impl PictureMaker for Pictures {
    async fn thumbnail(&self, team: TeamId, address: &str) -> Result<Picture, String> {
        match self.0.of(team, address).await {
            Ok(made) => {
                Ok(Picture { is_png: made.media == ThumbnailType::Png, bytes: made.bytes.as_slice().into() })
            }
            Err(failure) => Err(failure.message.clone()),
        }
    }
}
