//! Pictures in cells, made small. The address is read from the cell and never taken from the caller, so that this is no
//! way to fetch whatever one likes.

use std::fmt;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use rowmill_model::TeamId;
use rowmill_model::picture::picture_in;
use rowmill_model::row::RowView;

use crate::app::App;
use crate::blocking::off_async;
use crate::caller::Caller;
use crate::error::{Error, Noun, Result};

/// Whoever makes pictures small: the binary says who that is.
#[async_trait]
pub trait PictureMaker: fmt::Debug + Send + Sync + 'static {
    /// The picture at an address, or why there is none, as a sentence.
    async fn thumbnail(&self, team: TeamId, address: &str) -> std::result::Result<Picture, String>;
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
pub(crate) struct Pictures(OnceLock<Arc<dyn PictureMaker>>);

impl App {
    /// Says who makes pictures small. The first to say so is kept.
    pub fn make_pictures_with(&self, maker: Arc<dyn PictureMaker>) {
        let _ = self.pictures.0.set(maker);
    }

    /// The picture that a cell shows, made small.
    pub async fn picture(&self, caller: Caller, project: &str, row: &str, column: &str) -> Result<Picture> {
        let (stored, row) = self.row(caller, project, row).await?;
        let column = stored.project.table.named(column).ok_or(Error::NotFound(Noun::Column))?;
        let address = off_async(row.values.as_bytes().len(), || {
            let view = RowView::new(&stored.project.table, row.values.cells()?, &row.states);
            let value = view.value(column);
            Ok::<_, Error>(value.and_then(|raw| picture_in(&column.header, &raw)))
        })?;
        let address = address.ok_or(Error::NotFound(Noun::Image))?;
        let maker = self.pictures.0.get();
        let maker = maker.ok_or_else(|| Error::Internal("this process makes no thumbnails".into()))?;
        maker.thumbnail(stored.project.team, &address).await.map_err(Error::ImageUnavailable)
    }
}
