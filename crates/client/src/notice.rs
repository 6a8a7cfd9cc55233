//! What a command says beside its answer, on standard error.

/// Writes a line to standard error. Where nobody reads it any more, as in `rowmill move … 2>&1 | head`, the work goes on;
/// `eprintln!` would end it with a panic.
#[macro_export]
macro_rules! notice {
    ($($words:tt)*) => {{
        use ::std::io::Write as _;
        let _ = ::std::writeln!(::std::io::stderr(), $($words)*);
    }};
}
