//! The rows of events as they are sent: read and rendered once for all streams that are equally far, within a
//! budget of bytes, and kept only until the last of them has sent them.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use rowmill_app::{App, RowsChanged, RowsKey};
use rowmill_fairness::{FairSemaphore, Tenant};
use rowmill_model::TeamId;
use tokio::sync::OnceCell;

use crate::byte_budget::{ByteBudget, Charge};
use crate::error::Error;
use crate::wire::event;
use crate::wire::key_by::KeyBy;

/// What one event may take: as much as its rows have at most, unless a single one has more.
const FRAME_BYTES: usize = 1024 * 1024;
/// How long a stream waits for room. After that its reader is told to read anew.
const WAIT_MAX: Duration = Duration::from_secs(1);
/// Events that are read and rendered at once, and those of one team.
const MAKERS: usize = 4;
const MAKERS_PER_TEAM: usize = 2;
/// Beyond this, rendering would hold up whoever shares the thread.
const INLINE_BYTES_MAX: usize = 64 * 1024;

#[derive(Debug)]
pub(crate) struct EventFrames {
    budget: Arc<ByteBudget>,
    makers: Arc<FairSemaphore>,
    cache: Mutex<FrameCache>,
}

/// The frames that streams are sending, by what they tell.
#[derive(Debug, Default)]
struct FrameCache {
    by_key: HashMap<(RowsKey, KeyBy), Weak<FrameCell>>,
    /// Clear away what nobody uses when there are so many.
    sweep_at: usize,
}

/// The frame of all streams that are equally far; none if there was no room for it.
type FrameCell = OnceCell<Option<Frame>>;

#[derive(Debug)]
struct Frame {
    bytes: Vec<u8>,
    told: usize,
    _charge: Charge,
}

/// One stream's part in a frame. While it is being sent, others share it.
struct Sending(Arc<FrameCell>);

impl AsRef<[u8]> for Sending {
    fn as_ref(&self) -> &[u8] {
        self.0.get().and_then(Option::as_ref).map_or(&[], |frame| frame.bytes.as_slice())
    }
}

impl EventFrames {
    pub(crate) fn new(bytes_max: u32) -> Self {
        // A team's part holds one event at least, or none would ever have rows.
        let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX).max(4 * FRAME_BYTES);
        Self {
            budget: ByteBudget::new(bytes_max),
            makers: FairSemaphore::new(MAKERS, MAKERS_PER_TEAM),
            cache: Mutex::default(),
        }
    }

    /// The next event of rows as it is sent, and how many of them it tells. None if it takes too much room.
    pub(crate) async fn rows(
        &self,
        app: &App,
        team: TeamId,
        changed: &RowsChanged,
        key_by: KeyBy,
    ) -> Result<Option<(Bytes, usize)>, Error> {
        let cell = self.cell((changed.key(), key_by));
        let made = cell.get_or_try_init(|| self.make(app, team, changed, key_by)).await?;
        let Some(told) = made.as_ref().map(|frame| frame.told) else { return Ok(None) };
        Ok(Some((Bytes::from_owner(Sending(cell)), told)))
    }

    fn cell(&self, key: (RowsKey, KeyBy)) -> Arc<FrameCell> {
        let mut cache = self.cache.lock();
        if let Some(cell) = cache.by_key.get(&key).and_then(Weak::upgrade) {
            return cell;
        }
        if cache.by_key.len() >= cache.sweep_at {
            cache.by_key.retain(|_, cell| cell.strong_count() > 0);
            cache.sweep_at = 2 * cache.by_key.len() + 64;
        }
        let cell = Arc::default();
        cache.by_key.insert(key, Arc::downgrade(&cell));
        cell
    }

    /// Room is taken before anything is read.
    async fn make(
        &self,
        app: &App,
        team: TeamId,
        changed: &RowsChanged,
        key_by: KeyBy,
    ) -> Result<Option<Frame>, Error> {
        let tenant = Tenant::team(team.0.as_u128());
        let Some(mut charge) = self.budget.charge(tenant, FRAME_BYTES, WAIT_MAX).await else {
            return Ok(None);
        };
        let _maker = self.makers.acquire(tenant).await;
        let read = app.changed_rows(changed).await?;
        if read.bytes > FRAME_BYTES && !charge.resize(read.bytes) {
            return Ok(None);
        }
        let (told, project) = (read.told, changed.project.clone());
        let bytes = if read.bytes > INLINE_BYTES_MAX {
            tokio::task::spawn_blocking(move || event::render_rows(&project, &read, key_by))
                .await
                .map_err(|error| rowmill_app::Error::Internal(error.into()))??
        } else {
            event::render_rows(&project, &read, key_by)?
        };
        if !charge.resize(bytes.len()) {
            return Ok(None);
        }
        Ok(Some(Frame { bytes, told, _charge: charge }))
    }
}
