//! The async runtime that clients and stores are driven in.

use tokio::runtime::Runtime;

use crate::any_result::AnyResult;

pub(crate) fn runtime() -> AnyResult<Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().enable_all().build()?)
}
