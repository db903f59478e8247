//! The conversation, kept in memory and sent whole with each question: the server keeps none.

use toolyard_client_sdk::{ChatQuestion, Message};

/// What was said so far, and how it shall go on.
#[derive(Debug, Default)]
pub(super) struct ChatConversation {
    messages: Vec<Message>,
    /// Numbers the messages.
    last_id: usize,
    pub(super) model: Option<String>,
    pub(super) system: Option<String>,
}

impl ChatConversation {
    pub(super) fn new(model: Option<String>, system: Option<String>) -> Self {
        Self { model, system, ..Self::default() }
    }

    /// Forgets what was said; model and system text stay.
    pub(super) fn start_over(&mut self) {
        self.messages.clear();
    }

    /// The user says something.
    pub(super) fn add_user_message(&mut self, text: &str) {
        self.last_id += 1;
        self.messages.push(Message::user(text).with_id(format!("u{}", self.last_id)));
    }

    /// What is asked now.
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

    /// Takes the conversation with the answer to what was said last. Where there is no answer, the question is taken back too:
    /// whoever asks again should not have asked twice.
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
    fn a_question_without_an_answer_is_taken_back() {
        let mut talk = ChatConversation::default();
        talk.add_user_message("hello");
        talk.record_answer(talk.messages.clone());
        assert_eq!(talk.messages, []);
        talk.add_user_message("again");
        talk.record_answer([talk.messages.clone(), vec![Message::assistant("hi")]].concat());
        let ids: Vec<_> = talk.messages.iter().map(|message| message.id.as_deref()).collect();
        assert_eq!(ids, [Some("u2"), None]);
        talk.start_over();
        assert_eq!(talk.messages, []);
    }
}
