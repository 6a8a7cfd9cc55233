//! Pages of rows as they are answered: whole, or where they are large in parts as they are read.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use futures_util::stream;
use rowmill_app::{Rest, StoredProject, StoredRow};
use rowmill_fairness::{Tenant, compute};
use rowmill_model::ColumnType;
use tokio::sync::mpsc;

use crate::answer_memory::AnswerMemory;
use crate::byte_budget::Charge;
use crate::error::Error;
use crate::paced;
use crate::page_numbers::PageNumbers;
use crate::row_selection::columns_of;
use crate::wire::key_by::KeyBy;
use crate::wire::row::{RowList, Shown};

/// A client that takes nothing for as long as this keeps no snapshot any more.
const STALL_MAX: Duration = Duration::from_secs(2);

/// How a page is written.
#[derive(Debug)]
pub(crate) struct PageForm {
    pub(crate) project: StoredProject,
    pub(crate) column_ids: Option<String>,
    pub(crate) shown: Shown,
    pub(crate) key_by: KeyBy,
}

/// An answer, whole or as it comes about.
pub(crate) enum Written {
    /// With where its rows end, and the room it takes.
    Whole {
        answer: Bytes,
        rows_end: usize,
        charge: Option<Charge>,
    },
    Streamed(Body),
}

impl PageForm {
    fn list(&self) -> Result<RowList<'_>, Error> {
        let table = &self.project.project.table;
        let columns = columns_of(table, self.column_ids.as_deref())?;
        Ok(RowList { table, columns, shown: self.shown, key_by: self.key_by })
    }

    /// Whether rendering takes so long that it is done on a thread apart.
    fn is_long(&self, rows: &[StoredRow]) -> bool {
        let columns = &self.project.project.table.columns;
        // Following references means reading the cells they point into, which may be large.
        columns.iter().any(|column| column.kind == ColumnType::Reference)
            || paced::is_long(bytes_of(rows), rows.len() * columns.len())
    }

    fn head(&self, rows: &[StoredRow]) -> Result<Vec<u8>, Error> {
        let mut out = br#"{"success":true,"rows":["#.to_vec();
        self.list()?.write_rows(rows, true, &mut out)?;
        Ok(out)
    }

    fn part(&self, rows: &[StoredRow]) -> Result<Vec<u8>, Error> {
        let mut out = Vec::new();
        self.list()?.write_rows(rows, false, &mut out)?;
        Ok(out)
    }

    /// Writes the rows of a page, and what stands behind them.
    pub(crate) async fn write(
        self,
        (rows, rest): (Vec<StoredRow>, Option<Rest>),
        numbers: &PageNumbers,
        memory: &Arc<AnswerMemory>,
    ) -> Result<Written, Error> {
        let form = Arc::new(self);
        let mut charge = memory.admit(bytes_of(&rows)).await?;
        let mut head = render(&form, rows, Self::head).await?;
        // Each reference column may show all that another column stores.
        if let Some(charge) = &mut charge {
            memory.enlarge(charge, head.len())?;
        }
        let Some(rest) = rest else {
            let rows_end = head.len();
            numbers.write_tail(&mut head)?;
            return Ok(Written::Whole { answer: head.into(), rows_end, charge });
        };
        let mut tail = Vec::new();
        numbers.write_tail(&mut tail)?;
        let (sender, receiver) = mpsc::channel(1);
        let outlet = Outlet { sender, rest, memory: Arc::clone(memory), charge };
        let work = send(outlet, form, head.into(), tail.into());
        tokio::spawn(Tenant::current().scope(work));
        let pieces = stream::unfold(receiver, async |mut receiver| {
            receiver.recv().await.map(|piece: Result<Bytes, Error>| (piece, receiver))
        });
        Ok(Written::Streamed(Body::from_stream(pieces)))
    }
}

fn bytes_of(rows: &[StoredRow]) -> usize {
    rows.iter().map(|row| row.values.as_bytes().len()).sum()
}

/// Renders rows, on a thread apart if that takes long.
async fn render(
    form: &Arc<PageForm>,
    rows: Vec<StoredRow>,
    work: fn(&PageForm, &[StoredRow]) -> Result<Vec<u8>, Error>,
) -> Result<Vec<u8>, Error> {
    if !form.is_long(&rows) {
        return work(form, &rows);
    }
    let form = Arc::clone(form);
    let rendered = compute(move || work(&form, &rows)).await;
    rendered.map_err(|failure| rowmill_app::Error::Internal(failure.into()))?
}

/// Where a page goes, and what is still to be read of it.
struct Outlet {
    sender: mpsc::Sender<Result<Bytes, Error>>,
    rest: Rest,
    memory: Arc<AnswerMemory>,
    /// The room of what is being sent.
    charge: Option<Charge>,
}

/// Nobody takes what is sent any more.
struct Gone;

impl Outlet {
    /// Sends bytes as fast as they are taken. Whoever takes none for long gives back the snapshot.
    async fn send(&mut self, mut bytes: Bytes) -> Result<(), Gone> {
        while !bytes.is_empty() {
            let mut room = tokio::time::timeout(STALL_MAX, self.sender.reserve()).await;
            if room.is_err() {
                self.rest.give_back_snapshot();
                room = Ok(self.sender.reserve().await);
            }
            match room {
                Ok(Ok(room)) => room.send(Ok(paced::next_piece(&mut bytes))),
                _ => return Err(Gone),
            }
        }
        Ok(())
    }

    /// The next rows, with room for them.
    async fn read(&mut self) -> Result<Option<Vec<StoredRow>>, Error> {
        self.charge = None;
        let memory = Arc::clone(&self.memory);
        let mut admitted = pin!(memory.admit_part());
        let mut charge = if let Ok(charge) = tokio::time::timeout(STALL_MAX, admitted.as_mut()).await {
            charge?
        } else {
            self.rest.give_back_snapshot();
            admitted.await?
        };
        let rows = self.rest.next().await.map_err(rowmill_app::Error::from)?;
        self.memory.enlarge(&mut charge, bytes_of(rows.as_deref().unwrap_or_default()))?;
        self.charge = Some(charge);
        Ok(rows)
    }
}

/// Sends a page to its end. A failure breaks the connection off: a page that ends properly has all its rows.
async fn send(mut outlet: Outlet, form: Arc<PageForm>, head: Bytes, tail: Bytes) {
    let mut next = head;
    loop {
        if outlet.send(next).await.is_err() {
            return;
        }
        let read = match outlet.read().await {
            Ok(Some(rows)) => render(&form, rows, PageForm::part).await,
            Ok(None) => {
                let _ = outlet.send(tail).await;
                return;
            }
            Err(error) => Err(error),
        };
        match read {
            Ok(bytes) => next = bytes.into(),
            Err(error) => {
                tracing::warn!(%error, "a page broke off");
                let _ = outlet.sender.send(Err(error)).await;
                return;
            }
        }
    }
}
