//! The result of whatever can fail in any way.

use std::error::Error;

pub(crate) type AnyResult<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;
