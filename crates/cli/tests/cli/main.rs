//! The real binary, against a real server that it runs itself.
#![cfg(test)]

mod accounts;
mod app;
mod approvals;
mod apps;
mod backup;
mod calls;
mod chat;
mod chat_approvals;
mod chat_plugins;
mod chat_stream;
mod connect;
mod definitions;
mod doctor;
mod eval;
mod fixture;
mod glasses;
mod guides;
mod import;
mod keys;
mod local_model;
mod login;
mod mcp;
mod migrate;
mod models;
mod offline;
mod plugin;
mod plugin_catalogue;
mod plugin_install;
mod serve;
mod server_guides;
mod store;
mod terminal;
mod tool_sign_in;
mod tools;
mod upstreams;
