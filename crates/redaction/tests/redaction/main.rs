//! Secrets are found by their formats, hidden from models and restored for their origins.

#![expect(clippy::unwrap_used, reason = "a test fails with a panic")]

mod benign;
mod formats;
mod near_misses;
mod restoring;
mod samples;
mod speed;
