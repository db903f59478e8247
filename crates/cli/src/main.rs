//! The `toolyard` command: runs a server, or sends requests to one.
//!
//! It is thin: the server is a library, and everything else is a request to its API. Each command is one file under
//! `commands`, with its flags, its output and its code. Deliberately absent: state of its own except for the profiles of
//! `login`, retries, and any way around the API. Only `serve`, the commands that need no server, `token`,
//! `backup`, `restore` and `doctor` open a server's files.

mod cli;
mod client;
mod client_file;
mod commands;
mod config;
mod connection;
mod error;
mod input;
mod lines;
mod new_file;
mod output;
mod profiles;
mod signals;
mod socket;
mod text;
mod tool_file;
mod typed_line;

use std::process::ExitCode;

use crate::{cli::Cli, commands::CommandOutcome, error::CliError, output::CliOutput};

// A call makes many small allocations on one thread that are freed on another. mimalloc is built for that: the server
// needs less CPU per call than with the system allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // First, so that a worker starts quickly. This is not a command for people: the server starts its workers.
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
    // A read from the terminal cannot be cancelled; the process must not wait for the next line.
    runtime.shutdown_background();
    match ended {
        Ok(CommandOutcome::Success) => ExitCode::SUCCESS,
        Ok(CommandOutcome::Failure) => ExitCode::FAILURE,
        Ok(CommandOutcome::AwaitingUser) => ExitCode::from(3),
        Err(error) => output.report_error(&error),
    }
}
