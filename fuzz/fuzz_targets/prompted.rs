//! Any reply, cut anywhere: see `toolyard_agent::prompted::check`. Seeds: `crates/agent/tests/corpus`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use toolyard_agent::{model::Stop, prompted::check::check};

fuzz_target!(|input: (String, Vec<u16>, u8)| {
    let (reply, cuts, stop) = input;
    let stop = [Stop::Done, Stop::Calls, Stop::Length, Stop::Filtered, Stop::Other][usize::from(stop % 5)];
    let cuts: Vec<_> = cuts.into_iter().map(usize::from).collect();
    if let Err(wrong) = check(&reply, &cuts, stop) {
        panic!("{wrong}");
    }
});
