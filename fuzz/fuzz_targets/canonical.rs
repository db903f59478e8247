//! Any text in its canonical form: see `toolyard_trust::check::check_canonical_form`. Seeds: `crates/trust/tests/data`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use toolyard_trust::check;

fuzz_target!(|text: &str| {
    if let Err(wrong) = check::check_canonical_form(text) {
        panic!("{wrong}");
    }
});
