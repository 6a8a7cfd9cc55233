//! Which addresses a call may reach.

/// Who named the address that is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NetworkPolicy {
    /// A table or a team: public addresses only, and what the operator has opened.
    Guarded,
    /// The operator, by the environment: any address.
    Trusted,
}
