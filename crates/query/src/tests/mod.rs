//! What is found in memory is what `model` says of each row, whatever is asked and whatever happens.

mod histories;
mod loading;
mod made;
mod memory;
mod operators;
mod orders;
mod patterns;
mod walks;
mod warm_up;
mod whole;
