//! Prose: what is shown, what is held back, and what opens something.

use std::mem;

use super::{
    Event, Parser, State,
    body::Body,
    family::Family,
    limits, lines,
    markers::{self, Kind},
    opening::{self, Look, Opens, Place},
    thoughts::Thoughts,
    whole::Whole,
    wrong::Wrong,
};

impl Parser {
    fn place(&self) -> Place {
        if self.lines.is_code() {
            Place::Code
        } else if let Some(family) = self.behind {
            Place::Behind(family)
        } else if !self.said {
            Place::First
        } else if !self.trailer.is_empty() || self.lines.is_start(lines::width(&self.space)) {
            Place::Line
        } else if self.lines.is_glued() {
            Place::Glued
        } else {
            Place::Prose
        }
    }

    pub(super) fn step_prose(&mut self, c: char) {
        if self.held.is_empty() && c.is_whitespace() {
            return self.step_space(c);
        }
        self.held.push(c);
        match opening::look(&self.held, self.place(), &self.tools) {
            Look::Maybe if self.held.len() <= limits::MAX_OPENING_BYTES => {}
            Look::Maybe | Look::No => self.reject(),
            Look::Opens { what, used } => self.open(what, used),
        }
    }

    fn step_space(&mut self, c: char) {
        if !self.trailer.is_empty() {
            self.trailer.push(c);
            if self.trailer.len() > limits::MAX_OPENING_BYTES {
                self.show_held_space();
            }
        } else if (self.behind.is_some() || !self.said) && !self.lines.is_code() {
            // Blank lines around what was swallowed say nothing.
            if c == '\n' && self.line_ended {
                self.space.clear()
            } else {
                self.space.push(c)
            }
            if self.space.len() > limits::MAX_OPENING_BYTES {
                self.show_held_space();
            }
        } else if matches!(c, ' ' | '\t') && self.lines.is_start(lines::width(&self.space)) {
            self.space.push(c);
            if !self.lines.is_start(lines::width(&self.space)) {
                self.show_held_space();
            }
        } else {
            self.show(c);
        }
    }

    /// What is held is no marker: its first character is text, the rest may still be one.
    fn reject(&mut self) {
        let held = mem::take(&mut self.held);
        let Some(first) = held.chars().next() else { return };
        let whole = !self.said && self.count == 0 && !self.not_whole && self.trailer.is_empty();
        if whole && Whole::may_begin(first) {
            self.state = State::Whole(Whole::new());
            return self.look_again(&held);
        }
        self.show(first);
        self.look_again(&held[first.len_utf8()..]);
    }

    pub(super) fn give_up_whole(&mut self) {
        if let State::Whole(whole) = mem::replace(&mut self.state, State::Prose) {
            self.not_whole = true;
            self.look_again(&whole.into_text());
        }
    }

    fn open(&mut self, what: Opens, used: usize) {
        let held = mem::take(&mut self.held);
        let rest = &held[used..];
        if what == Opens::Kind(Kind::End) {
            self.trailer.push_str(&mem::take(&mut self.space));
            self.trailer.push_str(&held[..used]);
            return self.look_again(rest);
        }
        self.space.clear();
        self.trailer.clear();
        let kind = match what {
            Opens::Kind(kind) => kind,
            Opens::Harmony(name) => {
                self.state = State::Body(Body::new(Family::Harmony, Some(name)));
                return self.look_again(rest);
            }
        };
        match kind {
            Kind::Call(family) => self.state = State::Body(Body::new(family, None)),
            Kind::Thoughts(ends) => self.state = State::Thoughts(Thoughts::new(ends)),
            Kind::Invented => self.state = State::Invented(Thoughts::new(markers::INVENTED_END)),
            Kind::Section(family) => return self.close(family, rest),
            Kind::Closer => {
                let family = self.behind.unwrap_or(Family::Plain);
                return self.close(family, rest);
            }
            // Both were turned into something else by now.
            Kind::Header | Kind::End => {}
        }
        self.look_again(rest);
    }

    fn show_held_space(&mut self) {
        let held = mem::take(&mut self.trailer) + &mem::take(&mut self.space);
        held.chars().for_each(|c| self.show_now(c));
    }

    fn show(&mut self, c: char) {
        self.show_held_space();
        self.show_now(c);
    }

    fn show_now(&mut self, c: char) {
        self.lines.pass(c);
        (self.behind, self.said, self.line_ended) = (None, true, c == '\n');
        match self.events.last_mut() {
            Some(Event::Text(text)) => text.push(c),
            _ => self.events.push(Event::Text(c.to_string())),
        }
    }

    pub(super) fn finish_prose(&mut self) {
        let held = mem::take(&mut self.held);
        match opening::begun(&held, self.place()) {
            Some(Kind::Call(_)) => self.bad(Wrong::Cut.into(), &held),
            Some(Kind::Section(_) | Kind::Closer | Kind::Thoughts(_) | Kind::Invented | Kind::Header) => {}
            Some(Kind::End) | None if held.is_empty() => {
                if self.said && self.behind.is_none() && self.trailer.is_empty() {
                    self.show_held_space();
                }
            }
            Some(Kind::End) | None => held.chars().for_each(|c| self.show(c)),
        }
    }
}
