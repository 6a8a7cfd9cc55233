//! Thumbnails of the images that cells name. The address is read from the cell and never taken from the caller, so that
//! nobody can fetch any address they like.

use std::sync::Arc;

use rowmill_model::RowId;
use rowmill_model::cell_image::image_in;
use rowmill_model::row::{RowView, Source};
use rowmill_store::{StoredProject, StoredRow, Wanted, WantedSlots};

use crate::app::App;
use crate::blocking::off_async;
use crate::caller::Caller;
use crate::error::{Error, Noun, Result};
use crate::thumbnailer::{Thumbnail, Thumbnailer};

impl App {
    /// Sets what makes thumbnails. Only the first call counts.
    pub fn set_thumbnailer(&self, thumbnailer: Arc<dyn Thumbnailer>) {
        let _ = self.thumbnailer.set(thumbnailer);
    }

    /// The thumbnail of the image that a cell names.
    pub async fn thumbnail(
        &self,
        caller: Caller,
        project: &str,
        row: &str,
        column: &str,
    ) -> Result<Thumbnail> {
        let stored = self.project(caller, project).await?;
        let table = &stored.project.table;
        let column = table.named(column).ok_or(Error::NotFound(Noun::Column));
        let slots =
            WantedSlots::only(column.as_ref().ok().and_then(|column| Source::compile(table, column).slot()));
        let row = self.row_within(&stored, row, slots).await?;
        let column = column?;
        let address = off_async(row.values.as_bytes().len(), || {
            let view = RowView::new(&stored.project.table, row.values.cells()?, &row.states);
            let value = view.value(column);
            Ok::<_, Error>(value.and_then(|raw| image_in(&column.header, &raw)))
        })?;
        let address = address.ok_or(Error::NotFound(Noun::Image))?;
        let thumbnailer = self.thumbnailer.get();
        let thumbnailer =
            thumbnailer.ok_or_else(|| Error::Internal("this process makes no thumbnails".into()))?;
        thumbnailer.thumbnail(stored.project.team, &address).await.map_err(Error::ImageUnavailable)
    }

    /// A row with the values in these slots at least.
    async fn row_within(&self, stored: &StoredProject, row: &str, slots: WantedSlots) -> Result<StoredRow> {
        let id = RowId::parse(row).ok_or(Error::NotFound(Noun::Row))?;
        let positions =
            self.store.positions(stored.project.id, vec![id]).await?.into_iter().flatten().collect();
        let wanted = Wanted { bytes_max: usize::MAX, slots };
        let found = self.store.rows_at_within(stored.project.id, positions, wanted).await?;
        found.rows.into_iter().next().ok_or(Error::NotFound(Noun::Row))
    }
}
