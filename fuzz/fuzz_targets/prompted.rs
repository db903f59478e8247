//! Any reply, split anywhere: see `toolyard_agent::prompted::check`. Seeds: `crates/agent/tests/corpus`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use toolyard_agent::{model::ModelStopReason, prompted::check::check_reply};

fuzz_target!(|input: (String, Vec<u16>, u8)| {
    let (reply, cuts, stop) = input;
    let stop = [
        ModelStopReason::Done,
        ModelStopReason::Calls,
        ModelStopReason::Length,
        ModelStopReason::Filtered,
        ModelStopReason::Other,
    ][usize::from(stop % 5)];
    let cuts: Vec<_> = cuts.into_iter().map(usize::from).collect();
    if let Err(fault) = check_reply(&reply, &cuts, stop) {
        panic!("{fault}");
    }
});
