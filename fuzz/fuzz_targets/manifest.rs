//! Any bytes as a manifest: see `toolyard_trust::check::check_manifest`. Seeds: `crates/trust/tests/data`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use toolyard_trust::check;

fuzz_target!(|bytes: &[u8]| {
    if let Err(wrong) = check::check_manifest(bytes) {
        panic!("{wrong}");
    }
});
