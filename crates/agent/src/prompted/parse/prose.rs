//! Prose: which text is shown, which is held back, and what opens something.

use std::mem;

use super::{
    ParseEvent, ParserState, ReplyParser,
    bare_reply::BareReply,
    body::PartialBody,
    family::CallFamily,
    limits, lines,
    markers::{self, MarkerKind},
    opening::{self, OpenedItem, OpeningMatch, TextPosition},
    problem::CallProblem,
    thoughts::ThoughtReader,
};

impl ReplyParser {
    fn text_position(&self) -> TextPosition {
        if self.lines.is_code() {
            TextPosition::Code
        } else if let Some(family) = self.behind {
            TextPosition::Behind(family)
        } else if !self.has_output {
            TextPosition::First
        } else if !self.trailer.is_empty() || self.lines.is_start(lines::column_width(&self.space)) {
            TextPosition::Line
        } else if self.lines.is_glued() {
            TextPosition::Glued
        } else {
            TextPosition::Prose
        }
    }

    pub(super) fn step_prose(&mut self, c: char) {
        if self.held.is_empty() && c.is_whitespace() {
            return self.step_space(c);
        }
        self.held.push(c);
        match opening::match_opening(&self.held, self.text_position(), &self.tools) {
            OpeningMatch::Maybe if self.held.len() <= limits::MAX_OPENING_BYTES => {}
            OpeningMatch::Maybe | OpeningMatch::No => self.reject_held(),
            OpeningMatch::Opens { what, used } => self.open_item(what, used),
        }
    }

    fn step_space(&mut self, c: char) {
        if !self.trailer.is_empty() {
            self.trailer.push(c);
            if self.trailer.len() > limits::MAX_OPENING_BYTES {
                self.show_held_space();
            }
        } else if (self.behind.is_some() || !self.has_output) && !self.lines.is_code() {
            // Blank lines around removed text are dropped.
            if c == '\n' && self.line_ended {
                self.space.clear()
            } else {
                self.space.push(c)
            }
            if self.space.len() > limits::MAX_OPENING_BYTES {
                self.show_held_space();
            }
        } else if matches!(c, ' ' | '\t') && self.lines.is_start(lines::column_width(&self.space)) {
            self.space.push(c);
            if !self.lines.is_start(lines::column_width(&self.space)) {
                self.show_held_space();
            }
        } else {
            self.show_char(c);
        }
    }

    /// The held text is no marker: its first character is shown, and the rest is parsed again.
    fn reject_held(&mut self) {
        let held = mem::take(&mut self.held);
        let Some(first) = held.chars().next() else { return };
        let whole = !self.has_output && self.count == 0 && !self.not_bare && self.trailer.is_empty();
        if whole && BareReply::may_begin(first) {
            self.state = ParserState::Bare(BareReply::new());
            return self.requeue_text(&held);
        }
        self.show_char(first);
        self.requeue_text(&held[first.len_utf8()..]);
    }

    pub(super) fn give_up_bare_reply(&mut self) {
        if let ParserState::Bare(whole) = mem::replace(&mut self.state, ParserState::Prose) {
            self.not_bare = true;
            self.requeue_text(&whole.into_text());
        }
    }

    fn open_item(&mut self, what: OpenedItem, used: usize) {
        let held = mem::take(&mut self.held);
        let rest = &held[used..];
        if what == OpenedItem::Kind(MarkerKind::End) {
            self.trailer.push_str(&mem::take(&mut self.space));
            self.trailer.push_str(&held[..used]);
            return self.requeue_text(rest);
        }
        self.space.clear();
        self.trailer.clear();
        let kind = match what {
            OpenedItem::Kind(kind) => kind,
            OpenedItem::Harmony(name) => {
                self.state = ParserState::Body(PartialBody::new(CallFamily::Harmony, Some(name)));
                return self.requeue_text(rest);
            }
        };
        match kind {
            MarkerKind::Call(family) => self.state = ParserState::Body(PartialBody::new(family, None)),
            MarkerKind::Thoughts(ends) => self.state = ParserState::Thoughts(ThoughtReader::new(ends)),
            MarkerKind::Invented => {
                self.state = ParserState::Invented(ThoughtReader::new(markers::INVENTED_END))
            }
            MarkerKind::Section(family) => return self.close_section(family, rest),
            MarkerKind::Closer => {
                let family = self.behind.unwrap_or(CallFamily::Plain);
                return self.close_section(family, rest);
            }
            // These were handled above.
            MarkerKind::Header | MarkerKind::End => {}
        }
        self.requeue_text(rest);
    }

    fn show_held_space(&mut self) {
        let held = mem::take(&mut self.trailer) + &mem::take(&mut self.space);
        held.chars().for_each(|c| self.show_now(c));
    }

    fn show_char(&mut self, c: char) {
        self.show_held_space();
        self.show_now(c);
    }

    fn show_now(&mut self, c: char) {
        self.lines.push_char(c);
        (self.behind, self.has_output, self.line_ended) = (None, true, c == '\n');
        match self.events.last_mut() {
            Some(ParseEvent::Text(text)) => text.push(c),
            _ => self.events.push(ParseEvent::Text(c.to_string())),
        }
    }

    pub(super) fn finish_prose(&mut self) {
        let held = mem::take(&mut self.held);
        match opening::begun_marker(&held, self.text_position()) {
            Some(MarkerKind::Call(_)) => self.push_bad_call(CallProblem::Cut.into(), &held),
            Some(
                MarkerKind::Section(_)
                | MarkerKind::Closer
                | MarkerKind::Thoughts(_)
                | MarkerKind::Invented
                | MarkerKind::Header,
            ) => {}
            Some(MarkerKind::End) | None if held.is_empty() => {
                if self.has_output && self.behind.is_none() && self.trailer.is_empty() {
                    self.show_held_space();
                }
            }
            Some(MarkerKind::End) | None => held.chars().for_each(|c| self.show_char(c)),
        }
    }
}
