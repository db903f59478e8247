//! The tools of all servers together, and the status of each server.

use std::collections::HashSet;

use toolyard_protocol::chat::ClientToolLimits;

use super::offer::{ServerOffer, SetAsideTool};
use crate::{
    plugin::{PluginError, PluginTools},
    tool::Tool,
};

/// The state of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerState {
    /// Not started, or stopped.
    Idle,
    /// It answered the last request.
    Up,
    /// It failed, and why. Its tools stay, and the next call of one restarts it.
    Down(String),
}

/// The status of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerStatus {
    /// Its name.
    pub name: String,
    /// Its state.
    pub state: ServerState,
    /// How many of its tools can be offered.
    pub tools: usize,
}

/// One entry for each server, in the given order.
#[derive(Debug)]
pub(super) struct ServerBoard {
    entries: Vec<BoardEntry>,
    /// Tools that fit by themselves but not together with the others.
    crowded_out: Vec<SetAsideTool>,
}

#[derive(Debug)]
struct BoardEntry {
    server: String,
    state: ServerState,
    offer: ServerOffer,
}

impl ServerBoard {
    pub(super) fn new(servers: impl IntoIterator<Item = String>) -> Self {
        let place = |server| BoardEntry { server, state: ServerState::Idle, offer: ServerOffer::default() };
        Self { entries: servers.into_iter().map(place).collect(), crowded_out: Vec::new() }
    }

    pub(super) fn set_state(&mut self, at: usize, state: ServerState) {
        if let Some(place) = self.entries.get_mut(at) {
            place.state = state;
        }
    }

    pub(super) fn set_offer(&mut self, at: usize, offer: ServerOffer) {
        if let Some(place) = self.entries.get_mut(at) {
            (place.state, place.offer) = (ServerState::Up, offer);
        }
    }

    /// Removes all offers.
    pub(super) fn clear(&mut self) {
        for place in &mut self.entries {
            (place.state, place.offer) = (ServerState::Idle, ServerOffer::default());
        }
        self.crowded_out.clear();
    }

    pub(super) fn server_statuses(&self) -> Vec<ServerStatus> {
        let status = |place: &BoardEntry| ServerStatus {
            name: place.server.clone(),
            state: place.state.clone(),
            tools: place.offer.tools.len(),
        };
        self.entries.iter().map(status).collect()
    }

    pub(super) fn set_aside(&self) -> Vec<SetAsideTool> {
        let by_server = self.entries.iter().flat_map(|place| &place.offer.set_aside);
        by_server.chain(&self.crowded_out).cloned().collect()
    }

    /// Publishes all tools that fit together.
    pub(super) fn publish_tools(
        &mut self,
        own: &PluginTools,
        limits: &ClientToolLimits,
    ) -> Result<(), PluginError> {
        let (mut tools, mut crowded_out) = self.select_fitting(limits);
        // Each iteration removes one tool, so the loop ends.
        loop {
            match own.replace(tools.iter().map(|(_, tool)| tool.clone()).collect()) {
                Err(PluginError::Conflict { tool, other, .. })
                    if tools.iter().any(|(_, ours)| ours.name() == tool) =>
                {
                    let reason = format!("the plugin `{other}` has a tool `{tool}` already");
                    let taken = |(_, ours): &(String, Tool)| ours.name() == tool;
                    crowded_out.extend(tools.extract_if(.., |ours| taken(ours)).map(|(server, ours)| {
                        SetAsideTool { server, tool: ours.name().to_owned(), reason: reason.clone() }
                    }));
                }
                outcome => {
                    self.crowded_out = crowded_out;
                    return outcome;
                }
            }
        }
    }

    /// The tools that fit into the limits, each with its server, and those that do not.
    fn select_fitting(&self, limits: &ClientToolLimits) -> (Vec<(String, Tool)>, Vec<SetAsideTool>) {
        let (mut tools, mut crowded_out) = (Vec::new(), Vec::new());
        let (mut names, mut bytes) = (HashSet::new(), 0);
        for place in &self.entries {
            for tool in &place.offer.tools {
                let definition = tool.definition();
                let size = definition.parameters.to_string().len() + definition.description.len();
                let problem = if names.contains(tool.name()) {
                    Some("there is a tool of that name already".to_owned())
                } else if tools.len() == limits.tools {
                    Some(format!("there are more than {} tools", limits.tools))
                } else if bytes + size > limits.bytes {
                    Some(format!("all definitions together would be over {} bytes", limits.bytes))
                } else {
                    None
                };
                match problem {
                    None => {
                        bytes += size;
                        names.insert(tool.name().to_owned());
                        tools.push((place.server.clone(), tool.clone()));
                    }
                    Some(reason) => {
                        let (server, tool) = (place.server.clone(), tool.name().to_owned());
                        crowded_out.push(SetAsideTool { server, tool, reason });
                    }
                }
            }
        }
        (tools, crowded_out)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};
    use toolyard_protocol::chat::ClientTool;

    use super::*;

    fn tool(name: &str, description: &str) -> Tool {
        let parameters = json!({ "type": "object" });
        let definition =
            ClientTool { name: name.to_owned(), description: description.to_owned(), parameters };
        Tool::new(definition, Arc::new(|_, _| Box::pin(async { Ok(Value::Null) })))
    }

    fn board(tools: &[&[Tool]]) -> ServerBoard {
        let mut board = ServerBoard::new((0..tools.len()).map(|n| format!("s{n}")));
        for (at, tools) in tools.iter().enumerate() {
            board.set_offer(at, ServerOffer { tools: tools.to_vec(), set_aside: Vec::new() });
        }
        board
    }

    fn published(board: &mut ServerBoard, limits: ClientToolLimits) -> (Vec<String>, Vec<String>) {
        let own = PluginTools::detached("mcp");
        board.publish_tools(&own, &limits).unwrap();
        let aside = board.set_aside().into_iter().map(|aside| format!("{}: {}", aside.tool, aside.reason));
        (own.get().iter().map(|tool| tool.name().to_owned()).collect(), aside.collect())
    }

    #[test]
    fn the_first_tool_of_a_name_stays_and_the_others_are_set_aside() {
        let mut board = board(&[&[tool("a", ""), tool("b", "")], &[tool("a", ""), tool("c", "")]]);
        let (tools, aside) = published(&mut board, ClientToolLimits::default());
        assert_eq!(tools, ["a", "b", "c"]);
        assert_eq!(aside, ["a: there is a tool of that name already"]);
        assert_eq!(board.set_aside()[0].server, "s1");
    }

    #[test]
    fn number_and_size_of_tools_are_limited() {
        let mut board = board(&[&[tool("a", ""), tool("b", &"x".repeat(100)), tool("c", "")]]);
        let few = ClientToolLimits { tools: 1, ..ClientToolLimits::default() };
        let (tools, aside) = published(&mut board, few);
        assert_eq!(tools, ["a"]);
        assert_eq!(aside, ["b: there are more than 1 tools", "c: there are more than 1 tools"]);
        let little = ClientToolLimits { bytes: 60, ..ClientToolLimits::default() };
        let (tools, aside) = published(&mut board, little);
        assert_eq!(tools, ["a", "c"]);
        assert_eq!(aside, ["b: all definitions together would be over 60 bytes"]);
    }

    #[test]
    fn offers_can_be_cleared() {
        let mut board = board(&[&[tool("a", "")]]);
        assert_eq!(
            board.server_statuses()[0],
            ServerStatus { name: "s0".to_owned(), state: ServerState::Up, tools: 1 }
        );
        board.clear();
        assert_eq!(
            board.server_statuses()[0],
            ServerStatus { name: "s0".to_owned(), state: ServerState::Idle, tools: 0 }
        );
        assert_eq!(published(&mut board, ClientToolLimits::default()).0, [""; 0]);
    }
}
