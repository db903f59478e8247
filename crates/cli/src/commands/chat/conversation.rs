//! The conversation. It is kept in memory and sent as a whole with each request: the server stores none.

use toolyard_client_sdk::{ChatQuestion, Message};

/// The messages so far, and the settings of the next request.
#[derive(Debug, Default)]
pub(super) struct ChatConversation {
    messages: Vec<Message>,
    /// The number of the last user message, for its id.
    last_id: usize,
    pub(super) model: Option<String>,
    pub(super) system: Option<String>,
}

impl ChatConversation {
    pub(super) fn new(model: Option<String>, system: Option<String>) -> Self {
        Self { model, system, ..Self::default() }
    }

    /// Drops all messages. The model and the system prompt stay.
    pub(super) fn start_over(&mut self) {
        self.messages.clear();
    }

    /// Adds a message of the user.
    pub(super) fn add_user_message(&mut self, text: &str) {
        self.last_id += 1;
        self.messages.push(Message::user(text).with_id(format!("u{}", self.last_id)));
    }

    /// The request for the next answer.
    pub(super) fn build_request(&self) -> ChatQuestion {
        let mut question = ChatQuestion::new(self.messages.iter().cloned());
        if let Some(model) = &self.model {
            question = question.model(model);
        }
        if let Some(system) = &self.system {
            question = question.system(system);
        }
        question
    }

    /// Takes over the conversation with the answer to the last message. Without an answer the message is removed too, so
    /// that a retry does not send it twice.
    pub(super) fn record_answer(&mut self, history: Vec<Message>) {
        if history.len() > self.messages.len() {
            self.messages = history;
        } else {
            self.messages.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_without_an_answer_is_removed() {
        let mut conversation = ChatConversation::default();
        conversation.add_user_message("hello");
        conversation.record_answer(conversation.messages.clone());
        assert_eq!(conversation.messages, []);
        conversation.add_user_message("again");
        conversation.record_answer([conversation.messages.clone(), vec![Message::assistant("hi")]].concat());
        let ids: Vec<_> = conversation.messages.iter().map(|message| message.id.as_deref()).collect();
        assert_eq!(ids, [Some("u2"), None]);
        conversation.start_over();
        assert_eq!(conversation.messages, []);
    }
}
