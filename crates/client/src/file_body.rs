//! A file as the body of a request, read in parts while it is sent.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use indicatif::ProgressBar;
use tokio::sync::mpsc;

use crate::failure::UnreadableFile;
use crate::json_lines::JsonLines;

const PART_BYTES: usize = 64 << 10;
/// Parts that are read ahead.
const PARTS_AHEAD: usize = 8;

/// Where the bytes come from.
pub(crate) enum Source {
    File { file: File, bytes: Option<u64> },
    StandardInput,
}

impl Source {
    /// A file, or standard input for `-`.
    pub(crate) fn open(path: &Path) -> std::io::Result<Self> {
        if path.as_os_str() == "-" {
            return Ok(Self::StandardInput);
        }
        let file = File::open(path)?;
        let about = file.metadata()?;
        if about.is_dir() {
            return Err(std::io::Error::other("it is a folder"));
        }
        // A pipe or a device has no length.
        Ok(Self::File { bytes: about.is_file().then_some(about.len()), file })
    }

    /// How many bytes it has, if that is known.
    pub(crate) fn bytes(&self) -> Option<u64> {
        match self {
            Self::File { bytes, .. } => *bytes,
            Self::StandardInput => None,
        }
    }

    pub(crate) fn reader(self) -> Box<dyn Read + Send> {
        match self {
            // Not what is added to it meanwhile: its length is told beforehand.
            Self::File { file, bytes } => Box::new(file.take(bytes.unwrap_or(u64::MAX))),
            Self::StandardInput => Box::new(std::io::stdin()),
        }
    }
}

pub(crate) struct FileBody {
    parts: mpsc::Receiver<std::io::Result<Bytes>>,
    bytes_left: Option<u64>,
    bar: ProgressBar,
}

impl FileBody {
    /// Starts reading. JSON is sent as lines.
    pub(crate) fn new(source: Source, is_json: bool, bar: ProgressBar) -> Self {
        let bytes_left = source.bytes().filter(|_| !is_json);
        let (sender, parts) = mpsc::channel(PARTS_AHEAD);
        let reader = source.reader();
        // A thread and not a task: reading a file or a terminal blocks.
        std::thread::spawn(move || read(reader, is_json, &sender));
        Self { parts, bytes_left, bar }
    }
}

fn read(mut reader: Box<dyn Read + Send>, is_json: bool, sender: &mpsc::Sender<std::io::Result<Bytes>>) {
    let mut lines = is_json.then(JsonLines::new);
    let mut buffer = vec![0; PART_BYTES];
    loop {
        let part = match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => convert(buffer.get(..length).unwrap_or_default(), lines.as_mut()),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => Err(unreadable(error.to_string())),
        };
        let is_over = part.is_err();
        // Nobody takes the rest once the server has refused it.
        if sender.blocking_send(part).is_err() || is_over {
            return;
        }
    }
    if let Some(Err(words)) = lines.map(|lines| lines.end()) {
        let _ = sender.blocking_send(Err(unreadable(words)));
    }
}

fn convert(part: &[u8], lines: Option<&mut JsonLines>) -> std::io::Result<Bytes> {
    let Some(lines) = lines else { return Ok(Bytes::copy_from_slice(part)) };
    let mut out = Vec::with_capacity(part.len());
    lines.push(part, &mut out).map_err(unreadable)?;
    Ok(out.into())
}

fn unreadable(words: String) -> std::io::Error {
    std::io::Error::other(UnreadableFile(words))
}

impl Body for FileBody {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        let part = ready!(self.parts.poll_recv(context));
        if let Some(Ok(part)) = &part {
            let length = u64::try_from(part.len()).unwrap_or(u64::MAX);
            self.bar.inc(length);
            self.bytes_left = self.bytes_left.map(|left| left.saturating_sub(length));
        }
        Poll::Ready(part.map(|part| part.map(Frame::data)))
    }

    fn size_hint(&self) -> SizeHint {
        self.bytes_left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
