//! The real binary, against a real server that it runs itself.
#![cfg(test)]

mod app;
mod apps;
mod chat;
mod chat_stream;
mod doctor;
mod eval;
mod fixture;
mod glasses;
mod import;
mod local_model;
mod mcp;
mod migrate;
mod models;
mod offline;
mod serve;
mod tools;
mod upstreams;
