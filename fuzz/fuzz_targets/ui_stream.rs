//! Any bytes, split anywhere, as a response of a server: see `toolyard_client_sdk::stream::check`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use toolyard_client_sdk::stream::check::check_split_read;

fuzz_target!(|input: (Vec<u8>, Vec<u16>)| {
    let (bytes, cuts) = input;
    let cuts: Vec<_> = cuts.into_iter().map(usize::from).collect();
    if let Err(wrong) = check_split_read(&bytes, &cuts) {
        panic!("{wrong}");
    }
});
