//! `toolyard models`: which models can be asked, and what was looked for and is not there.

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
The first model is asked where nobody names one; `chat.model` in the configuration chooses another. `native` models call
tools in the way of their protocol, `prompted` ones by text. Of a vendor with a key one model is listed; any other can be
named as well. What is missing is told to operators only. Exits with 1 where there is no model.

Examples:
  toolyard models
  toolyard models --local
  toolyard models --local --set model_search.local_servers=false";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ModelsArgs {
    /// Look from here, with the configuration and environment that `toolyard serve` would have, and ask no server
    #[arg(long)]
    local: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

/// What there is.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct ModelsOutput(pub(crate) ModelOverview);

impl RenderText for ModelsOutput {
    fn render_text(&self) -> String {
        let ModelOverview { default, models, files, missing } = &self.0;
        let mut parts = Vec::new();
        parts.push(match models.is_empty() {
            true => "There is no model to ask.".to_owned(),
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
                "\nFiles that a server such as llama-server can run:\n{}",
                text::format_table(&rows)
            ));
        }
        if let Some(missing) = missing.as_ref().filter(|missing| !missing.is_empty()) {
            let rows: Vec<_> = missing.iter().map(|one| [one.what.clone(), one.how.clone()]).collect();
            parts.push(format!("\nLooked for and not found:\n{}", text::format_table(&rows)));
        }
        parts.join("\n")
    }
}

fn model_row(model: &OverviewModel, default: Option<&str>) -> [String; 3] {
    let calling = match model.calling {
        CallingMode::Native => "native",
        CallingMode::Prompted => "prompted",
        CallingMode::Small => "prompted, one tool at most",
    };
    let origin = model.origin.as_ref().map(|origin| match origin {
        OverviewOrigin::Configured => "chat.model names it".to_owned(),
        OverviewOrigin::Endpoint(name) => format!("the endpoint {name}"),
        OverviewOrigin::File(name) => format!("the file of models.{name}"),
        OverviewOrigin::Key(variable) => format!("{variable} is set"),
        OverviewOrigin::Server(at) => at.clone(),
    });
    let default = (default == Some(model.name.as_str())).then(|| "the default".to_owned());
    let about: Vec<String> = default.into_iter().chain(origin).collect();
    [model.name.clone(), calling.to_owned(), about.join("; ")]
}

pub(crate) async fn list_models(cx: &CommandContext, args: ModelsArgs) -> Result<CommandOutcome, CliError> {
    let overview = match args.local {
        true => find_local_models(&args.config).await?,
        false => {
            let ConfigArgs { config, data, settings } = &args.config;
            if config.is_some() || data.is_some() || !settings.is_empty() {
                let message = "--config, --data and --set are about models that are looked for from here";
                return Err(CliError::usage(message, "add --local, or leave them out"));
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
    fn everything_is_told() {
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
local/m            prompted                    the default; chat.model names it
openai/gpt-5-mini  native                      OPENAI_API_KEY is set
tiny/t             prompted, one tool at most

Files that a server such as llama-server can run:
m.gguf  98 MB

Looked for and not found:
Ollama  Start it.";
        assert_eq!(overview.render_text(), expected);
    }

    #[test]
    fn nothing_is_told_plainly() {
        let overview = ModelOverview { default: None, models: Vec::new(), files: None, missing: None };
        assert_eq!(ModelsOutput(overview).render_text(), "There is no model to ask.");
    }
}
