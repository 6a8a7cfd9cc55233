//! What is in the binary.

use super::component::Component;
use super::{crates, npm};
use crate::process::AnyResult;

/// Crates first, then npm packages, each by name.
pub(super) fn shipped() -> AnyResult<Vec<Component>> {
    let mut components = crates::shipped()?;
    components.extend(npm::shipped()?);
    components.sort();
    Ok(components)
}
