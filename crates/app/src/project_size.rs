//! How large a project may be without its rows. Its document is read, parsed and written as one, so a large one costs everybody.

use rowmill_model::documents::{write_project, write_views};
use rowmill_model::{Project, View};
use rowmill_store::StoredProject;

use crate::app::App;
use crate::error::{Error, Result};

/// What an entry of the trash takes besides what is in it.
const TRASH_WORDS_BYTES: usize = 4 * 1024;

impl App {
    /// Refuses a project that is larger than it may be, unless it was at least as large before, or something was moved to
    /// the trash, where a few words are added.
    pub(crate) fn check_project_size(
        &self,
        project: &Project,
        views: &[View],
        before: Option<&StoredProject>,
    ) -> Result<()> {
        let most = self.limits.project_bytes_max;
        let bytes = bytes_of(project, views)?;
        if u32::try_from(bytes).is_ok_and(|bytes| bytes <= most) {
            return Ok(());
        }
        if let Some(before) = before {
            let count = |project: &Project, views: &[View]| project.table.columns.len() + views.len();
            let is_tidied = count(project, views) < count(&before.project, &before.views);
            let more = if is_tidied { TRASH_WORDS_BYTES } else { 0 };
            if bytes <= bytes_of(&before.project, &before.views)? + more {
                return Ok(());
            }
        }
        let message = format!(
            "the project would have {bytes} bytes without its rows; the limit is {most} (projectBytesMax). Delete views or \
             columns that nobody needs, also from the trash, or shorten long prompts and filters"
        );
        Err(Error::limit("", message))
    }
}

fn bytes_of(project: &Project, views: &[View]) -> Result<usize> {
    let internal = |error: serde_json::Error| Error::Internal(error.into());
    Ok(write_project(project).map_err(internal)?.len() + write_views(views).map_err(internal)?.len())
}
