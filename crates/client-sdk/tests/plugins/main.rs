//! The built-in plugins, used as a client uses them: their tools are called with arguments, and their hooks run.
//! The bridge meets servers that other people wrote: `scripts/setup-tests.sh tests/mcp-servers` installs them.
#![cfg(test)]

mod bridge;
mod fetch;
mod files;
mod js;
mod js_fetch;
mod process;
mod servers;
mod sqlite;
mod sqlite_bounds;
mod world;
