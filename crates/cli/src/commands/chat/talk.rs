//! The conversation, kept in memory and sent whole with each question: the server keeps none.

use toolyard_client_sdk::{Message, Question};

/// What was said so far, and how it shall go on.
#[derive(Debug, Default)]
pub(super) struct Talk {
    messages: Vec<Message>,
    /// Numbers the messages.
    last_id: usize,
    pub(super) model: Option<String>,
    pub(super) system: Option<String>,
}

impl Talk {
    pub(super) fn new(model: Option<String>, system: Option<String>) -> Self {
        Self { model, system, ..Self::default() }
    }

    /// Forgets what was said; model and system text stay.
    pub(super) fn begin_anew(&mut self) {
        self.messages.clear();
    }

    /// The user says something.
    pub(super) fn says(&mut self, text: &str) {
        self.last_id += 1;
        self.messages.push(Message::user(text).with_id(format!("u{}", self.last_id)));
    }

    /// What is asked now.
    pub(super) fn question(&self) -> Question {
        let mut question = Question::new(self.messages.iter().cloned());
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
    pub(super) fn answered(&mut self, history: Vec<Message>) {
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
        let mut talk = Talk::default();
        talk.says("hello");
        talk.answered(talk.messages.clone());
        assert_eq!(talk.messages, []);
        talk.says("again");
        talk.answered([talk.messages.clone(), vec![Message::assistant("hi")]].concat());
        let ids: Vec<_> = talk.messages.iter().map(|message| message.id.as_deref()).collect();
        assert_eq!(ids, [Some("u2"), None]);
        talk.begin_anew();
        assert_eq!(talk.messages, []);
    }
}
