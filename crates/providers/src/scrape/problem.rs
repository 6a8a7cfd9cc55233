//! Why there is nothing to read in what was fetched.

use serde::{Deserialize, Serialize};

/// Why there is nothing to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Problem {
    /// The page shows nothing without a browser, and holds nothing to read instead.
    NeedsBrowser,
    /// It is no PDF document, or a broken one.
    BrokenPdf,
    /// The PDF document opens with a password only.
    LockedPdf,
    /// The pages of the PDF document are pictures.
    PdfWithoutText,
    /// It is no image of a kind that is shown.
    NotAnImage,
    /// It has more pixels than are decoded.
    TooManyPixels,
    /// It begins as an image, and cannot be decoded.
    BrokenImage,
}
