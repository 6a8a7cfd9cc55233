//! Work that takes long, on threads where teams take turns.

use rowmill_store::StoreError;

pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, StoreError> {
    rowmill_fairness::compute(work).await.map_err(|failure| StoreError::Backend(failure.into()))
}
