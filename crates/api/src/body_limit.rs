//! How large the body of an operation may be, and what that limit is called.

use rowmill_model::Limits;

/// Which limit holds for the size of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyLimit {
    Body,
    /// Of what strangers send.
    Delivery,
}

impl BodyLimit {
    /// How many bytes there may be, and what that limit is called.
    pub(crate) fn bytes_max(self, limits: &Limits) -> BytesMax {
        let body = BytesMax { number: limits.body_bytes_max, name: "bodyBytesMax" };
        let delivery = BytesMax { number: limits.delivery_bytes_max, name: "deliveryBytesMax" };
        if self == Self::Delivery && delivery.number < body.number { delivery } else { body }
    }
}

/// The most bytes that something may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BytesMax {
    pub number: u32,
    /// What the limit is called.
    pub name: &'static str,
}
