//! Pictures in cells, made small. The address is read from the cell and never taken from the caller, so that this is no
//! way to fetch whatever one likes.

use std::sync::Arc;

use rowmill_model::picture::picture_in;
use rowmill_model::row::RowView;

use crate::app::App;
use crate::blocking::off_async;
use crate::caller::Caller;
use crate::error::{Error, Noun, Result};
use crate::picture_maker::{Picture, PictureMaker};

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
