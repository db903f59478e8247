//! The ends of calls: collected text becomes calls and bad calls, within the limits.

use std::mem;

use super::{
    ParseEvent, ParserState, ReplyParser,
    bare_reply::{BareReply, BareVerdict},
    body::{BodyEnd, PartialBody},
    envelope::{CallFault, CallParseResult},
    family::CallFamily,
    json, limits,
    problem::{self, CallProblem},
};
use crate::{
    message::ModelToolCall,
    model::{BadCall, ids},
};

impl ReplyParser {
    pub(super) fn end_body(&mut self, again: &str) {
        if let ParserState::Body(body) = mem::replace(&mut self.state, ParserState::Prose) {
            self.read_body(&body, BodyEnd::Closed);
            self.close_section(body.family, again);
        }
    }

    pub(super) fn end_long_body(&mut self) {
        let ParserState::Body(mut body) = mem::replace(&mut self.state, ParserState::Prose) else { return };
        match body.fall_back() {
            Some(rest) if self.count < limits::MAX_CALLS => {
                self.read_body(&body, BodyEnd::Closed);
                self.close_section(body.family, &rest);
            }
            Some(_) | None => {
                self.push_bad_call(
                    CallFault {
                        name: body.name.clone().or_else(|| json::guess_name(&body.text)),
                        problem: CallProblem::TooLong,
                    },
                    &body.text,
                );
                body.skip_rest();
                self.state = ParserState::Body(body);
            }
        }
    }

    pub(super) fn finish_bare_reply(&mut self, whole: BareReply, cut: bool) {
        self.not_bare = true;
        match whole.finish(cut, &self.tools) {
            BareVerdict::Calls(reads) => {
                self.space.clear();
                let text = whole.into_text();
                reads.into_iter().for_each(|read| self.push_call(read, &text));
                self.behind = Some(CallFamily::Plain);
            }
            BareVerdict::Text => self.requeue_text(&whole.into_text()),
        }
    }

    pub(super) fn finish_body(&mut self, mut body: PartialBody, cut: bool) {
        if body.is_skipping() {
            return;
        }
        let rest = if self.count < limits::MAX_CALLS { body.fall_back() } else { None };
        if cut && rest.is_none() {
            let name = body.name.clone().or_else(|| json::guess_name(&body.text));
            self.push_bad_call(CallFault { name, problem: CallProblem::Cut }, &body.text);
        } else {
            let end = if rest.is_some() { BodyEnd::Closed } else { BodyEnd::Open };
            self.read_body(&body, end);
        }
        self.close_section(body.family, &rest.unwrap_or_default());
    }

    fn read_body(&mut self, body: &PartialBody, end: BodyEnd) {
        if body.is_skipping() {
            return;
        }
        for read in body.family.parse_body(body.name.as_deref(), &body.text, end, &self.tools) {
            self.push_call(read, &body.text);
        }
    }

    fn push_call(&mut self, read: CallParseResult, text: &str) {
        match read {
            Ok(found) if self.count < limits::MAX_CALLS => {
                self.count += 1;
                let id = ids::new_call_id(&*self.ids);
                self.events.push(ParseEvent::Call(ModelToolCall {
                    id,
                    name: found.name,
                    arguments: found.arguments,
                }));
            }
            Ok(found) => {
                self.push_bad_call(CallFault { name: Some(found.name), problem: CallProblem::TooMany }, text)
            }
            Err(fault) => self.push_bad_call(fault, text),
        }
    }

    pub(super) fn push_bad_call(&mut self, fault: CallFault, text: &str) {
        if self.count > limits::MAX_CALLS {
            return;
        }
        let problem = if self.count == limits::MAX_CALLS { CallProblem::TooMany } else { fault.problem };
        self.count += 1;
        self.events.push(ParseEvent::BadCall(BadCall {
            id: ids::new_call_id(&*self.ids),
            name: fault.name.map(|name| problem::truncate_text(&name, limits::MAX_NAME_BYTES)),
            text: problem::truncate_text(text.trim(), limits::MAX_SHOWN_BYTES),
            problem: problem.describe(&self.tools),
        }));
    }
}
