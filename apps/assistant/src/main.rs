//! Runs the assistant.

use std::{
    io::{self, Write as _},
    net::SocketAddr,
    path::PathBuf,
    process::ExitCode,
};

use clap::Parser;
use toolyard_app_sdk::{AppServer, BuildError, LogLines, RegisterError};
use toolyard_assistant::{
    Assistant, SetupError, SystemPorts,
    config::{AssistantConfig, AssistantConfigError},
    registration_body,
};
use toolyard_protocol::secret::SecretText;

/// The voice assistant for smart glasses
#[derive(Debug, Parser)]
#[command(version)]
struct AssistantOptions {
    /// A TOML file with settings; the flags below override it
    #[arg(long, env = "ASSISTANT_CONFIG")]
    config: Option<PathBuf>,
    /// Address to listen on [default: 127.0.0.1:7011]
    #[arg(long, env = "ASSISTANT_LISTEN")]
    listen: Option<SocketAddr>,
    /// URL of the Toolyard server [default: http://127.0.0.1:8787]
    #[arg(long, env = "ASSISTANT_SERVER")]
    server: Option<String>,
    /// The package name under which it is registered [default: com.toolyard.assistant]
    #[arg(long, env = "ASSISTANT_PACKAGE")]
    package: Option<String>,
    /// The model that answers, such as ollama/qwen3 [default: the first that is found]
    #[arg(long, env = "ASSISTANT_MODEL")]
    model: Option<String>,
    /// The file for conversations that users want to keep [default: data/assistant.db]
    #[arg(long, env = "ASSISTANT_DATA")]
    data: Option<PathBuf>,
    /// The API key from the registration
    #[arg(long, env = "ASSISTANT_API_KEY", hide_env_values = true, required_unless_present = "describe")]
    api_key: Option<String>,
    /// The signing secret from the registration
    #[arg(long, env = "ASSISTANT_SIGNING_SECRET", hide_env_values = true)]
    signing_secret: Option<String>,
    /// Upload the definition of the assistant's own tool to the server before listening
    #[arg(long)]
    register: bool,
    /// Print the body of `POST /api/apps` that registers the assistant, and exit
    #[arg(long)]
    describe: bool,
    /// Log filter, such as info or toolyard_assistant=debug
    #[arg(long, env = "ASSISTANT_LOG", default_value = "info")]
    log: String,
}

#[derive(Debug, thiserror::Error)]
enum AssistantRunError {
    #[error(transparent)]
    Config(#[from] AssistantConfigError),
    #[error(transparent)]
    Setup(#[from] SetupError),
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error(transparent)]
    Register(#[from] RegisterError),
    #[error("cannot listen on {address}: {error}")]
    Listen { address: SocketAddr, error: io::Error },
    #[error("cannot write: {0}")]
    Write(io::Error),
}

#[tokio::main]
async fn main() -> ExitCode {
    let options = AssistantOptions::parse();
    tracing_subscriber::fmt()
        .with_env_filter(&options.log)
        .with_writer(LogLines::stderr)
        .with_ansi(false)
        .init();
    match run_assistant(options).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The configuration file, overridden by the flags.
fn load_config(options: &AssistantOptions) -> Result<AssistantConfig, AssistantConfigError> {
    let mut config =
        options.config.as_deref().map(AssistantConfig::from_file).transpose()?.unwrap_or_default();
    config.listen = options.listen.unwrap_or(config.listen);
    config.data = options.data.clone().unwrap_or(config.data);
    config.model = options.model.clone().or(config.model);
    config.server = options.server.clone().unwrap_or(config.server);
    config.package = options.package.clone().unwrap_or(config.package);
    Ok(config)
}

async fn run_assistant(options: AssistantOptions) -> Result<(), AssistantRunError> {
    let config = load_config(&options)?;
    let address = config.listen;
    if options.describe {
        let body = registration_body(&config, &format!("http://{address}"));
        return writeln!(io::stdout(), "{body:#}").map_err(AssistantRunError::Write);
    }
    let key = options.api_key.unwrap_or_default();
    let mut builder = AppServer::builder(config.package.clone())
        .listen(address)
        .server(config.server.clone())
        .api_key(key.clone());
    if let Some(secret) = options.signing_secret {
        builder = builder.signing_secret(secret);
    }
    #[expect(clippy::disallowed_methods, reason = "the one place where the environment is read")]
    let world = SystemPorts::new(|name| std::env::var(name).ok());
    let assistant = Assistant::new(config, &SecretText::new(key), world)?;
    let app = assistant.add_to(builder)?.build()?;
    if options.register {
        app.register().await?;
    }
    let ended = app.run_until_signal().await;
    assistant.stop().await;
    ended.map_err(|error| AssistantRunError::Listen { address, error })
}
