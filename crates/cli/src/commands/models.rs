//! `toolyard models`: lists the available models, and what was searched for and not found.

use clap::Args;
use serde::Serialize;
use toolyard_server::{
    ServerDependencies,
    models::{CallingMode, ModelOverview, ModelRegistry, OverviewModel, OverviewOrigin},
};

use super::CommandOutcome;
use crate::{
    cli::CommandContext,
    config::{ConfigArgs, env_variables},
    error::CliError,
    output::RenderText,
    text,
};

const HELP: &str = "\
The first model is the default; set `chat.model` in the configuration to change it. `native` models call tools through
their API, `prompted` models through text. For each vendor with an API key one model is listed, but you can use any other
by name. Only operators see what is missing. Exits with 1 if no model is available.

Examples:
  toolyard models
  toolyard models --local
  toolyard models --local --set model_search.local_servers=false";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ModelsArgs {
    /// Search from this machine, with the configuration and environment of `toolyard serve`, without a server
    #[arg(long)]
    local: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

/// The available models.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct ModelsOutput(pub(crate) ModelOverview);

impl RenderText for ModelsOutput {
    fn render_text(&self) -> String {
        let ModelOverview { default, models, files, missing } = &self.0;
        let mut parts = Vec::new();
        parts.push(match models.is_empty() {
            true => "No model is available.".to_owned(),
            false => {
                let rows: Vec<_> = models.iter().map(|model| model_row(model, default.as_deref())).collect();
                text::format_table(&rows)
            }
        });
        if let Some(files) = files.as_ref().filter(|files| !files.is_empty()) {
            let rows: Vec<_> = files
                .iter()
                .map(|file| [file.name.clone(), format!("{} MB", file.bytes / 1_000_000)])
                .collect();
            parts.push(format!(
                "\nModel files that a server such as llama-server can run:\n{}",
                text::format_table(&rows)
            ));
        }
        if let Some(missing) = missing.as_ref().filter(|missing| !missing.is_empty()) {
            let rows: Vec<_> = missing.iter().map(|one| [one.what.clone(), one.how.clone()]).collect();
            parts.push(format!("\nNot found:\n{}", text::format_table(&rows)));
        }
        parts.join("\n")
    }
}

fn model_row(model: &OverviewModel, default: Option<&str>) -> [String; 3] {
    let calling = match model.calling {
        CallingMode::Native => "native",
        CallingMode::Prompted => "prompted",
        CallingMode::Small => "prompted, at most one tool",
    };
    let origin = model.origin.as_ref().map(|origin| match origin {
        OverviewOrigin::Configured => "set by chat.model".to_owned(),
        OverviewOrigin::Endpoint(name) => format!("endpoint {name}"),
        OverviewOrigin::File(name) => format!("file of models.{name}"),
        OverviewOrigin::Key(variable) => format!("{variable} is set"),
        OverviewOrigin::Server(at) => at.clone(),
    });
    let default = (default == Some(model.name.as_str())).then(|| "default".to_owned());
    let about: Vec<String> = default.into_iter().chain(origin).collect();
    [model.name.clone(), calling.to_owned(), about.join("; ")]
}

pub(crate) async fn list_models(cx: &CommandContext, args: ModelsArgs) -> Result<CommandOutcome, CliError> {
    let overview = match args.local {
        true => find_local_models(&args.config).await?,
        false => {
            let ConfigArgs { config, data, settings } = &args.config;
            if config.is_some() || data.is_some() || !settings.is_empty() {
                let message = "--config, --data and --set have no effect without --local";
                return Err(CliError::usage(message, "add --local, or omit them"));
            }
            cx.client()?.get("api/models").await?
        }
    };
    let verdict = if overview.models.is_empty() { CommandOutcome::Failure } else { CommandOutcome::Success };
    cx.output.print_result(&ModelsOutput(overview))?;
    Ok(verdict)
}

async fn find_local_models(config: &ConfigArgs) -> Result<ModelOverview, CliError> {
    let config = config.load_config(Vec::new())?;
    let world = ServerDependencies::with_environment(&env_variables().collect::<Vec<_>>());
    let book = ModelRegistry::new(&config, &world).map_err(CliError::Start)?;
    Ok(ModelOverview::for_operator(book.list_models().await))
}

#[cfg(test)]
mod tests {
    use toolyard_server::models::{OverviewFile, OverviewMissing};

    use super::*;

    #[test]
    fn models_files_and_missing_servers_are_listed() {
        let model = |name: &str, calling, origin| OverviewModel { name: name.to_owned(), calling, origin };
        let overview = ModelsOutput(ModelOverview {
            default: Some("local/m".to_owned()),
            models: vec![
                model("local/m", CallingMode::Prompted, Some(OverviewOrigin::Configured)),
                model(
                    "openai/gpt-5-mini",
                    CallingMode::Native,
                    Some(OverviewOrigin::Key("OPENAI_API_KEY".to_owned())),
                ),
                model("tiny/t", CallingMode::Small, None),
            ],
            files: Some(vec![OverviewFile { name: "m.gguf".to_owned(), bytes: 98_362_432 }]),
            missing: Some(vec![OverviewMissing { what: "Ollama".to_owned(), how: "Start it.".to_owned() }]),
        });
        let expected = "\
local/m            prompted                    default; set by chat.model
openai/gpt-5-mini  native                      OPENAI_API_KEY is set
tiny/t             prompted, at most one tool

Model files that a server such as llama-server can run:
m.gguf  98 MB

Not found:
Ollama  Start it.";
        assert_eq!(overview.render_text(), expected);
    }

    #[test]
    fn an_empty_overview_says_so() {
        let overview = ModelOverview { default: None, models: Vec::new(), files: None, missing: None };
        assert_eq!(ModelsOutput(overview).render_text(), "No model is available.");
    }
}
