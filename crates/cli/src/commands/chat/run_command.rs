//! Runs the slash commands of a chat.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use toolyard_protocol::raw::to_raw;
use toolyard_server::models::ModelOverview;

use super::{ChatSession, chat_command::ChatCommand};
use crate::{
    commands::{models::ModelsOutput, tools::ls::tool_rows},
    error::CliError,
    output::RenderText,
    text,
};

/// The tools that the model can call.
#[derive(Serialize, Deserialize)]
struct ChatToolList {
    tools: Vec<Box<RawValue>>,
}

impl RenderText for ChatToolList {
    fn render_text(&self) -> String {
        match self.tools.is_empty() {
            true => "No tools.".to_owned(),
            false => text::format_table(&tool_rows(&self.tools)),
        }
    }
}

impl ChatSession {
    pub(super) async fn run_command(&mut self, order: ChatCommand) -> Result<(), CliError> {
        match order {
            ChatCommand::New => {
                self.conversation.start_over();
                self.output.print_note("[new conversation]");
            }
            ChatCommand::Tools => {
                let tools = self.list_tools().await?;
                self.output.print_result(&tools)?;
            }
            ChatCommand::Model(None) => {
                let overview: ModelOverview = self.backend.get("api/models").await?;
                self.output.print_result(&ModelsOutput(overview))?;
            }
            ChatCommand::Model(Some(name)) => {
                self.output.print_note(&format!("[now using {name}]"));
                self.conversation.model = Some(name);
            }
            ChatCommand::System(text) => {
                let note = if text.is_some() { "[system prompt set]" } else { "[system prompt removed]" };
                self.output.print_note(note);
                self.conversation.system = text;
            }
        }
        Ok(())
    }

    /// The tools of the server, then those of this terminal.
    async fn list_tools(&self) -> Result<ChatToolList, CliError> {
        let mut listed = self.list_server_tools().await?;
        listed.tools.extend(self.backend.chat.client_tool_definitions().iter().map(to_raw));
        Ok(listed)
    }

    async fn list_server_tools(&self) -> Result<ChatToolList, CliError> {
        self.backend.get("api/tools").await
    }
}
