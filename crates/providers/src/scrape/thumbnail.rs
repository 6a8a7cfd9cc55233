//! From an image's bytes to a small image. Runs in the child: decoders of images break, too.
//!
//! What a file is, its first bytes say. Only images made of pixels are decoded, and their number is known before that.

use std::fmt;
use std::io::Cursor;

use bytes::Bytes;
use image::codecs::jpeg::JpegEncoder;
use image::{DynamicImage, ImageDecoder as _, ImageFormat, ImageReader, Limits};
use serde::{Deserialize, Serialize};

use super::problem::Problem;

/// The longest side of a thumbnail.
pub(super) const SIDE_MAX: u32 = 256;
/// The pixels of the largest image that is decoded: that of a good camera.
pub(super) const PIXELS_MAX: u64 = 30_000_000;
/// What decoding may take: as much as the largest pixels there are, eight bytes each.
const DECODING_BYTES_MAX: u64 = PIXELS_MAX * 8;
const JPEG_QUALITY: u8 = 82;

/// A small image.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thumbnail {
    pub media: ThumbnailType,
    #[serde(with = "base64_text")]
    pub bytes: Bytes,
}

/// What thumbnails are made as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ThumbnailType {
    /// For what is partly transparent.
    Png,
    Jpeg,
}

/// Its bytes are too many to be shown.
impl fmt::Debug for Thumbnail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Thumbnail({:?}, {} bytes)", self.media, self.bytes.len())
    }
}

/// Makes an image small.
pub(super) fn of(body: &[u8]) -> Result<Thumbnail, Problem> {
    let format = image::guess_format(body).ok().filter(|format| is_shown(*format));
    let format = format.ok_or(Problem::NotAnImage)?;
    let image = decoded(body, format)?;
    let (width, height) = (image.width(), image.height());
    let image = if width.max(height) > SIDE_MAX { image.thumbnail(SIDE_MAX, SIDE_MAX) } else { image };
    encoded(&image).ok_or(Problem::BrokenImage)
}

fn is_shown(format: ImageFormat) -> bool {
    use ImageFormat::{Gif, Ico, Jpeg, Png, WebP};
    matches!(format, Png | Jpeg | Gif | WebP | Ico)
}

/// The pixels, the right way up. Of what moves, the first picture.
fn decoded(body: &[u8], format: ImageFormat) -> Result<DynamicImage, Problem> {
    let mut reader = ImageReader::with_format(Cursor::new(body), format);
    let mut limits = Limits::default();
    limits.max_alloc = Some(DECODING_BYTES_MAX);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(|error| problem(&error))?;
    let (width, height) = decoder.dimensions();
    if u64::from(width) * u64::from(height) > PIXELS_MAX {
        return Err(Problem::TooManyPixels);
    }
    let orientation = decoder.orientation().ok();
    let mut image = DynamicImage::from_decoder(decoder).map_err(|error| problem(&error))?;
    if let Some(orientation) = orientation {
        image.apply_orientation(orientation);
    }
    Ok(image)
}

fn problem(error: &image::ImageError) -> Problem {
    match error {
        image::ImageError::Limits(_) => Problem::TooManyPixels,
        _ => Problem::BrokenImage,
    }
}

fn encoded(image: &DynamicImage) -> Option<Thumbnail> {
    let mut bytes = Vec::new();
    let rgba = image.to_rgba8();
    if rgba.pixels().any(|pixel| pixel.0.last().is_some_and(|alpha| *alpha < u8::MAX)) {
        rgba.write_to(&mut Cursor::new(&mut bytes), ImageFormat::Png).ok()?;
        return Some(Thumbnail { media: ThumbnailType::Png, bytes: bytes.into() });
    }
    let encoder = JpegEncoder::new_with_quality(&mut bytes, JPEG_QUALITY);
    image.to_rgb8().write_with_encoder(encoder).ok()?;
    Some(Thumbnail { media: ThumbnailType::Jpeg, bytes: bytes.into() })
}

/// Bytes as text, between the service and its child.
mod base64_text {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use bytes::Bytes;
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map(Bytes::from).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use image::{Rgb, RgbImage, Rgba, RgbaImage};

    use super::*;

    fn file(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
        let mut bytes = Vec::new();
        image.write_to(&mut Cursor::new(&mut bytes), format).unwrap();
        bytes
    }

    fn plain(width: u32, height: u32) -> DynamicImage {
        RgbImage::from_pixel(width, height, Rgb([200, 30, 40])).into()
    }

    fn glass(width: u32, height: u32) -> DynamicImage {
        RgbaImage::from_pixel(width, height, Rgba([200, 30, 40, 90])).into()
    }

    #[test]
    fn images_become_small() {
        use ImageFormat::{Gif, Ico, Jpeg, Png, WebP};
        for (image, format, media, size) in [
            (plain(1024, 512), Png, ThumbnailType::Jpeg, (256, 128)),
            (plain(1024, 512), Jpeg, ThumbnailType::Jpeg, (256, 128)),
            (plain(300, 600), WebP, ThumbnailType::Jpeg, (128, 256)),
            (plain(20, 10), Gif, ThumbnailType::Jpeg, (20, 10)),
            (glass(32, 32), Ico, ThumbnailType::Png, (32, 32)),
            (glass(512, 512), Png, ThumbnailType::Png, (256, 256)),
            (plain(3_000, 1), Png, ThumbnailType::Jpeg, (256, 1)),
        ] {
            let made = of(&file(&image, format)).unwrap();
            let read = image::load_from_memory(&made.bytes).unwrap();
            assert_eq!((made.media, (read.width(), read.height())), (media, size), "{format:?}");
        }
    }

    /// A PNG that says that it has this size, and has no pixels.
    fn bomb(side: u32) -> Vec<u8> {
        let mut bytes = file(&plain(1, 1), ImageFormat::Png);
        for (place, byte) in [side.to_be_bytes(), side.to_be_bytes()].concat().into_iter().enumerate() {
            bytes[16 + place] = byte;
        }
        let mut crc = flate2::Crc::new();
        crc.update(&bytes[12..29]);
        bytes.splice(29..33, crc.sum().to_be_bytes());
        bytes
    }

    #[test]
    fn what_is_no_image_or_too_large_is_refused() {
        let png = file(&plain(64, 64), ImageFormat::Png);
        for (body, problem) in [
            (&b""[..], Problem::NotAnImage),
            (b"<html></html>", Problem::NotAnImage),
            (b"<svg xmlns='http://www.w3.org/2000/svg'/>", Problem::NotAnImage),
            (b"%PDF-1.7", Problem::NotAnImage),
            (b"BM\0\0\0\0", Problem::NotAnImage),
            (&png[..60], Problem::BrokenImage),
            (b"\xff\xd8\xff\xe0", Problem::BrokenImage),
            (b"GIF89a", Problem::BrokenImage),
            (&bomb(60_000), Problem::TooManyPixels),
            (&bomb(8_000), Problem::TooManyPixels),
        ] {
            assert_eq!(of(body).unwrap_err(), problem, "{:?}", body.get(..8));
        }
    }
}
