//! The alert rules, read by promtool, and their own tests.

use crate::debian::Debian;
use crate::process::{AnyResult, run};

const RULES: &str = "packaging/alerts.yml";
const TESTS: &str = "packaging/alerts.test.yml";

pub(super) fn test() -> AnyResult {
    let debian = Debian::get()?;
    let promtool = || debian.program("promtool");
    let (Some(mut check), Some(mut test)) = (promtool(), promtool()) else {
        println!("skipped: neither Debian's packages nor this system have promtool");
        return Ok(());
    };
    run(check.args(["check", "rules", RULES]))?;
    run(test.args(["test", "rules", TESTS]))
}
