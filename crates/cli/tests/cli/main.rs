//! The real binary, against a real server that it runs itself.
#![cfg(test)]

mod app;
mod apps;
mod doctor;
mod fixture;
mod glasses;
mod import;
mod mcp;
mod migrate;
mod offline;
mod serve;
mod tools;
mod upstreams;
