//! What lines with a slash do.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use toolyard_protocol::raw::to_raw;
use toolyard_server::models::ModelOverview;

use super::{Chat, typed::Order};
use crate::{
    commands::{models::Overview, tools::ls::rows},
    error::CliError,
    output::Show,
    text,
};

/// The tools that the model may call.
#[derive(Serialize, Deserialize)]
struct Tools {
    tools: Vec<Box<RawValue>>,
}

impl Show for Tools {
    fn text(&self) -> String {
        match self.tools.is_empty() {
            true => "No tools.".to_owned(),
            false => text::table(&rows(&self.tools)),
        }
    }
}

impl Chat {
    pub(super) async fn order(&mut self, order: Order) -> Result<(), CliError> {
        match order {
            Order::New => {
                self.talk.begin_anew();
                self.output.note("[a new conversation]");
            }
            Order::Tools => {
                let tools = self.tools().await?;
                self.output.show(&tools)?;
            }
            Order::Model(None) => {
                let overview: ModelOverview = self.door.get("api/models").await?;
                self.output.show(&Overview(overview))?;
            }
            Order::Model(Some(name)) => {
                self.output.note(&format!("[{name} answers from now on]"));
                self.talk.model = Some(name);
            }
            Order::System(text) => {
                let said =
                    if text.is_some() { "[that is how the model shall behave]" } else { "[no system text]" };
                self.output.note(said);
                self.talk.system = text;
            }
        }
        Ok(())
    }

    /// Those of the server, then those of this terminal.
    async fn tools(&self) -> Result<Tools, CliError> {
        let mut listed = self.tools_of_server().await?;
        listed.tools.extend(self.door.chat.client_tool_definitions().iter().map(to_raw));
        Ok(listed)
    }

    async fn tools_of_server(&self) -> Result<Tools, CliError> {
        self.door.get("api/tools").await
    }
}
