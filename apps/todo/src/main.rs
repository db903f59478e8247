//! Runs the to-do list.

use std::{io, net::SocketAddr, process::ExitCode};

use clap::Parser;
use toolyard_app_sdk::{AppServer, BuildError, LogLines, RegisterError};

/// The sample app of the guide: a to-do list
#[derive(Debug, Parser)]
#[command(version)]
struct TodoOptions {
    /// Address to listen on
    #[arg(long, env = "TODO_LISTEN", default_value = "127.0.0.1:7010")]
    listen: SocketAddr,
    /// URL of the Toolyard server, such as http://127.0.0.1:8787; sessions connect only to it
    #[arg(long, env = "TODO_SERVER")]
    server: Option<String>,
    /// The package name under which the app is registered
    #[arg(long, env = "TODO_PACKAGE", default_value = "com.example.todo")]
    package: String,
    /// The API key from the registration
    #[arg(long, env = "TODO_API_KEY", hide_env_values = true)]
    api_key: Option<String>,
    /// The signing secret from the registration
    #[arg(long, env = "TODO_SIGNING_SECRET", hide_env_values = true)]
    signing_secret: Option<String>,
    /// Upload the definitions of tools, prompt and resource to the server before listening
    #[arg(long, requires_all = ["server", "api_key"])]
    register: bool,
    /// Log filter, such as info or toolyard_app_sdk=debug
    #[arg(long, env = "TODO_LOG", default_value = "info")]
    log: String,
}

#[derive(Debug, thiserror::Error)]
enum TodoRunError {
    #[error(transparent)]
    Invalid(#[from] toolyard_todo::TodoSetupError),
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error(transparent)]
    Register(#[from] RegisterError),
    #[error("cannot listen on {address}: {error}")]
    Listen { address: SocketAddr, error: io::Error },
}

#[tokio::main]
async fn main() -> ExitCode {
    let options = TodoOptions::parse();
    tracing_subscriber::fmt()
        .with_env_filter(&options.log)
        .with_writer(LogLines::stderr)
        .with_ansi(false)
        .init();
    match run_app(options).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run_app(options: TodoOptions) -> Result<(), TodoRunError> {
    let address = options.listen;
    let mut builder = AppServer::builder(options.package).listen(address);
    if let Some(server) = options.server {
        builder = builder.server(server);
    }
    if let Some(key) = options.api_key {
        builder = builder.api_key(key);
    }
    if let Some(secret) = options.signing_secret {
        builder = builder.signing_secret(secret);
    }
    let app = toolyard_todo::add_to(builder)?.build()?;
    if options.register {
        app.register().await?;
    }
    app.run_until_signal().await.map_err(|error| TodoRunError::Listen { address, error })
}
