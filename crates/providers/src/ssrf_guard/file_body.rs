//! A body that is read from a file as it is sent, so that it is never in memory as a whole.

use std::fs::File;
use std::io::{Read as _, Seek, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::task::JoinHandle;

use crate::failure::Failure;

/// Read at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// A file to be sent, with what stands before and behind its content.
#[derive(Debug)]
pub struct FileBody {
    pub before: Bytes,
    pub file: File,
    /// How much of the file is sent.
    pub bytes: u64,
    pub after: Bytes,
}

impl FileBody {
    /// The length of all that is sent.
    pub(super) fn length(&self) -> u64 {
        (self.before.len() as u64).saturating_add(self.bytes).saturating_add(self.after.len() as u64)
    }

    /// The same file once more, from its beginning.
    pub(super) fn open(&self) -> Result<SentFile, Failure> {
        let open = || {
            let mut file = self.file.try_clone()?;
            file.seek(SeekFrom::Start(0))?;
            std::io::Result::Ok(file)
        };
        let file = open()
            .map_err(|error| Failure::transient(format!("A temporary file cannot be read: {error}.")))?;
        Ok(SentFile {
            before: Some(self.before.clone()),
            file: Some(file),
            reading: None,
            left: self.bytes,
            after: Some(self.after.clone()),
        })
    }
}

/// A file under way.
#[derive(Debug)]
pub(super) struct SentFile {
    before: Option<Bytes>,
    file: Option<File>,
    /// The next part of the file, read on a thread that may wait for the disk.
    reading: Option<JoinHandle<std::io::Result<(File, Bytes)>>>,
    left: u64,
    after: Option<Bytes>,
}

fn read(mut file: File, bytes: usize) -> std::io::Result<(File, Bytes)> {
    let mut part = vec![0; bytes];
    file.read_exact(&mut part)?;
    Ok((file, part.into()))
}

impl Body for SentFile {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        let this = self.get_mut();
        if let Some(before) = this.before.take() {
            return Poll::Ready(Some(Ok(Frame::data(before))));
        }
        if this.left == 0 {
            return Poll::Ready(this.after.take().map(|after| Ok(Frame::data(after))));
        }
        if let Some(file) = this.file.take() {
            let bytes = usize::try_from(this.left).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES);
            this.reading = Some(tokio::task::spawn_blocking(move || read(file, bytes)));
        }
        let Some(reading) = &mut this.reading else {
            return Poll::Ready(Some(Err(std::io::ErrorKind::UnexpectedEof.into())));
        };
        let read = ready!(Pin::new(reading).poll(context)).unwrap_or_else(|error| Err(error.into()));
        this.reading = None;
        Poll::Ready(Some(read.map(|(file, part)| {
            this.file = Some(file);
            this.left = this.left.saturating_sub(part.len() as u64);
            Frame::data(part)
        })))
    }

    fn size_hint(&self) -> SizeHint {
        let of = |part: &Option<Bytes>| part.as_ref().map_or(0, |part| part.len() as u64);
        SizeHint::with_exact(of(&self.before) + self.left + of(&self.after))
    }
}
