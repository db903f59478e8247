//! The `toolyard` command: runs a server, and talks to one.
//!
//! Thin: the server is a library, and everything else is a request to its API. One file a command under `commands`,
//! each with its flags, its output and what it does. What is deliberately absent: state of its own, retries, and any
//! way around the API (only `serve`, what runs without a server, `token` and `doctor` look at the files of one).

mod cli;
mod client;
mod client_file;
mod commands;
mod config;
mod error;
mod input;
mod lines;
mod new_file;
mod output;
mod signals;
mod socket;
mod text;
mod tool_file;
mod typed_line;

use std::process::ExitCode;

use crate::{cli::Cli, commands::CommandOutcome, error::CliError, output::CliOutput};

// A call is many small allocations on one thread that are freed on another; mimalloc is made for that, and with it the
// server needs less CPU for each call than with the system's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Before anything else, so that a worker starts quickly. It is no command for people: the server starts it.
    if std::env::args_os().nth(1).is_some_and(|argument| argument == toolyard_server::WORKER_ARGUMENT) {
        toolyard_server::serve_worker();
    }
    let cli = match Cli::parse_arguments() {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    let output = CliOutput::new(cli.globals.json);
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return output.report_error(&CliError::Runtime(error)),
    };
    let ended = runtime.block_on(commands::run_command(cli));
    // A read of the terminal cannot be called off; the process must not wait for the next line.
    runtime.shutdown_background();
    match ended {
        Ok(CommandOutcome::Success) => ExitCode::SUCCESS,
        Ok(CommandOutcome::Failure) => ExitCode::FAILURE,
        Err(error) => output.report_error(&error),
    }
}
