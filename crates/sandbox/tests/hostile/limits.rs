//! Prints the limits: `cargo test -p toolyard-sandbox --test hostile the_limits -- --nocapture`.

use toolyard_sandbox::SandboxLimits;

use crate::tight;

#[test]
fn the_limits() {
    println!("by default: {:#?}", SandboxLimits::default());
    println!("in these tests: {:#?}", tight());
    let limits = SandboxLimits::default();
    // What one process may use in total, if every run uses its limits and no thread ends.
    let threads = limits.runs + limits.abandoned;
    let each =
        limits.memory + limits.stack + limits.host_calls_at_once * limits.response_bytes + limits.input_bytes;
    println!("at most {threads} threads and {} MiB", threads * each / 1024 / 1024);
    assert!(threads * each < 512 * 1024 * 1024);
}
