//! Thumbnails of the images that cells name.

use axum::http::Method;
use axum::http::header::{CACHE_CONTROL, HeaderValue};
use rowmill_app::Thumbnail;
use rowmill_model::Scopes;
use schemars::JsonSchema;
use serde::Deserialize;

use super::CellPath;
use crate::answer::{Answer, Media};
use crate::endpoint::{Call, Endpoint};
use crate::error::Error;
use crate::etag::EntityTag;
use crate::payload::{ImageBytes, Nothing};
use crate::state::ApiState;

/// How long a browser may keep a thumbnail whose address changes with the cell.
const KEPT: HeaderValue = HeaderValue::from_static("private, max-age=86400");

pub(crate) struct GetCellImage;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct ImageQuery {
    /// A text of yours that changes when the cell does. With it, the image may be cached for a day; without it, caches ask
    /// each time.
    #[schemars(length(max = 64), extend("example" = "5e884898"))]
    version: Option<String>,
}

impl Endpoint<ApiState> for GetCellImage {
    const METHOD: Method = Method::GET;
    const ID: &'static str = "getCellImage";
    const SCOPES: Scopes = Scopes::READ;
    const TAG: &'static str = "Rows";
    const SUMMARY: &'static str = "Get a thumbnail";
    const DESCRIPTION: &'static str = "Returns the image that a cell names, at most 256 pixels wide and high, as JPEG, or as PNG if it is \
         partly transparent. The server fetches it. A cell names an image by a web address of a PNG, JPEG, GIF, WebP or ICO file, by \
         any web address if the column or a field is called so (logo, image, photo, avatar, icon), or by a `data:` address. Without \
         an image the response is 404 `image_not_found`; if it cannot be fetched or shown, 404 `image_unavailable`.";
    const MEDIA: Media = Media::Jpeg;
    const MEDIA_ALSO: Option<Media> = Some(Media::Png);
    const IS_TAGGED: bool = true;
    type Path = CellPath;
    type Query = ImageQuery;
    type Body = Nothing;
    type Out = ImageBytes;

    async fn handle(
        call: Call<ApiState>,
        path: CellPath,
        query: ImageQuery,
        _: Nothing,
    ) -> Result<Answer<ImageBytes>, Error> {
        let CellPath { project_id, row_id, column_id } = path;
        let thumbnail = call.app().thumbnail(call.caller()?, &project_id, &row_id, &column_id).await?;
        let Thumbnail { is_png, bytes } = thumbnail;
        let tag = EntityTag::of_bytes(&bytes);
        let answer = Answer::rendered(bytes).with_tag(tag);
        let answer = answer.as_media(if is_png { Media::Png } else { Media::Jpeg });
        Ok(if query.version.is_some() { answer.with_header(CACHE_CONTROL, KEPT) } else { answer })
    }
}
