//! The ends of calls: what was collected becomes calls and bad calls, within the bounds.

use std::mem;

use super::{
    Event, Parser, State,
    body::{Body, BodyEnd},
    envelope::{Fault, Read},
    family::Family,
    json, limits,
    whole::{Verdict, Whole},
    wrong::{self, Wrong},
};
use crate::{
    message::Call,
    model::{BadCall, ids},
};

impl Parser {
    pub(super) fn end_body(&mut self, again: &str) {
        if let State::Body(body) = mem::replace(&mut self.state, State::Prose) {
            self.read_body(&body, BodyEnd::Closed);
            self.close(body.family, again);
        }
    }

    pub(super) fn end_long_body(&mut self) {
        let State::Body(mut body) = mem::replace(&mut self.state, State::Prose) else { return };
        match body.fall_back() {
            Some(rest) if self.count < limits::MAX_CALLS => {
                self.read_body(&body, BodyEnd::Closed);
                self.close(body.family, &rest);
            }
            Some(_) | None => {
                self.bad(
                    Fault {
                        name: body.name.clone().or_else(|| json::name_in(&body.text)),
                        wrong: Wrong::TooLong,
                    },
                    &body.text,
                );
                body.skip_rest();
                self.state = State::Body(body);
            }
        }
    }

    pub(super) fn finish_whole(&mut self, whole: Whole, cut: bool) {
        self.not_whole = true;
        match whole.end(cut, &self.tools) {
            Verdict::Calls(reads) => {
                self.space.clear();
                let text = whole.into_text();
                reads.into_iter().for_each(|read| self.read(read, &text));
                self.behind = Some(Family::Plain);
            }
            Verdict::Text => self.look_again(&whole.into_text()),
        }
    }

    pub(super) fn finish_body(&mut self, mut body: Body, cut: bool) {
        if body.is_skipping() {
            return;
        }
        let rest = if self.count < limits::MAX_CALLS { body.fall_back() } else { None };
        if cut && rest.is_none() {
            let name = body.name.clone().or_else(|| json::name_in(&body.text));
            self.bad(Fault { name, wrong: Wrong::Cut }, &body.text);
        } else {
            let end = if rest.is_some() { BodyEnd::Closed } else { BodyEnd::Open };
            self.read_body(&body, end);
        }
        self.close(body.family, &rest.unwrap_or_default());
    }

    fn read_body(&mut self, body: &Body, end: BodyEnd) {
        if body.is_skipping() {
            return;
        }
        for read in body.family.read(body.name.as_deref(), &body.text, end, &self.tools) {
            self.read(read, &body.text);
        }
    }

    fn read(&mut self, read: Read, text: &str) {
        match read {
            Ok(found) if self.count < limits::MAX_CALLS => {
                self.count += 1;
                let id = ids::fresh(&*self.ids);
                self.events.push(Event::Call(Call { id, name: found.name, arguments: found.arguments }));
            }
            Ok(found) => self.bad(Fault { name: Some(found.name), wrong: Wrong::TooMany }, text),
            Err(fault) => self.bad(fault, text),
        }
    }

    pub(super) fn bad(&mut self, fault: Fault, text: &str) {
        if self.count > limits::MAX_CALLS {
            return;
        }
        let wrong = if self.count == limits::MAX_CALLS { Wrong::TooMany } else { fault.wrong };
        self.count += 1;
        self.events.push(Event::BadCall(BadCall {
            id: ids::fresh(&*self.ids),
            name: fault.name.map(|name| wrong::shown(&name, limits::MAX_NAME_BYTES)),
            text: wrong::shown(text.trim(), limits::MAX_SHOWN_BYTES),
            problem: wrong.problem(&self.tools),
        }));
    }
}
