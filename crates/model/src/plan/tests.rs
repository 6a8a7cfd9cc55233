//! The state machine of the contract, row by row.
