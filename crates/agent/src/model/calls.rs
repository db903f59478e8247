//! Assembles calls from their parts. A complete one becomes a call, an incomplete one becomes an error for the model.

use std::{fmt, sync::Arc};

use toolyard_core::ports::IdGenerator;

use super::{BadCall, ModelEvent, ModelStopReason, ids, parse_raw_arguments};
use crate::message::ModelToolCall;

/// Most calls in one response.
pub(super) const MAX_CALLS: usize = 64;

/// Longest arguments of a call, in bytes.
pub(super) const MAX_ARGUMENTS: usize = 256 * 1024;

/// Longest accepted name of a tool.
const MAX_TOOL_NAME: usize = 256;

/// How much of a bad call is shown, in bytes.
const MAX_SHOWN: usize = 512;

/// More calls than [`MAX_CALLS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooManyCalls;

/// The calls of a response so far.
pub(super) struct CallAssembler {
    ids: Arc<dyn IdGenerator>,
    list: Vec<PartialCall>,
}

struct PartialCall {
    id: String,
    name: String,
    text: String,
    /// The arguments are too long.
    over: bool,
    begun: bool,
}

impl fmt::Debug for CallAssembler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallAssembler").field("count", &self.list.len()).finish()
    }
}

impl CallAssembler {
    pub(super) fn new(ids: Arc<dyn IdGenerator>) -> Self {
        Self { ids, list: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Begins another call and returns its position.
    pub(super) fn open_call(&mut self) -> Result<usize, TooManyCalls> {
        if self.list.len() == MAX_CALLS {
            return Err(TooManyCalls);
        }
        let id = ids::new_call_id(&*self.ids);
        self.list.push(PartialCall {
            id,
            name: String::new(),
            text: String::new(),
            over: false,
            begun: false,
        });
        Ok(self.list.len() - 1)
    }

    /// The id of a call, made by us.
    pub(super) fn call_id(&self, call: usize) -> Option<&str> {
        self.list.get(call).map(|call| call.id.as_str())
    }

    /// Adds to a call. Names arrive whole, so a second one is a repetition.
    pub(super) fn add(&mut self, call: usize, name: Option<&str>, text: &str, out: &mut Vec<ModelEvent>) {
        let Some(call) = self.list.get_mut(call) else { return };
        if let Some(name) = name.filter(|name| call.name.is_empty() && name.len() <= MAX_TOOL_NAME) {
            name.clone_into(&mut call.name);
        }
        if call.text.len().saturating_add(text.len()) > MAX_ARGUMENTS {
            call.over = true;
        }
        let text = if call.over { "" } else { text };
        call.text.push_str(text);
        if !call.begun && !call.name.is_empty() {
            call.begun = true;
            out.push(ModelEvent::CallBegins { id: call.id.clone(), name: call.name.clone() });
            if !call.text.is_empty() {
                out.push(ModelEvent::CallText { id: call.id.clone(), text: call.text.clone() });
            }
        } else if call.begun && !text.is_empty() {
            out.push(ModelEvent::CallText { id: call.id.clone(), text: text.to_owned() });
        }
    }

    /// The calls at the end of the response, in the order in which they began.
    pub(super) fn into_events(self, stop: ModelStopReason) -> Vec<ModelEvent> {
        let cut = matches!(stop, ModelStopReason::Length | ModelStopReason::Filtered);
        self.list.into_iter().map(|call| call.into_event(cut)).collect()
    }
}

impl PartialCall {
    fn into_event(self, cut: bool) -> ModelEvent {
        let problem = match parse_raw_arguments(&self.text) {
            _ if self.name.is_empty() => "the call names no tool".to_owned(),
            _ if self.over => format!("the arguments are longer than {MAX_ARGUMENTS} bytes"),
            // A call that was cut before its arguments looks like a call without any.
            _ if cut && self.text.trim().is_empty() => "the answer was cut before the arguments".to_owned(),
            Err(_) if cut => "the answer was cut in the middle of the arguments".to_owned(),
            Err(error) => format!("the arguments are not JSON: {error}"),
            Ok(arguments) => {
                return ModelEvent::Call(ModelToolCall { id: self.id, name: self.name, arguments });
            }
        };
        let name = (!self.name.is_empty()).then_some(self.name);
        ModelEvent::BadCall(BadCall { id: self.id, name, text: truncate_arguments(self.text), problem })
    }
}

/// The beginning of a text that may be long.
fn truncate_arguments(mut text: String) -> String {
    if text.len() > MAX_SHOWN {
        text.truncate(text.floor_char_boundary(MAX_SHOWN));
        text.push('…');
    }
    text
}

/// Why a response ended, from the word that vendors share. Several vendors say `stop` although there are calls.
pub(super) fn parse_stop_reason(word: Option<&str>, called: bool) -> ModelStopReason {
    match word {
        Some("length" | "max_tokens") => ModelStopReason::Length,
        Some("content_filter") => ModelStopReason::Filtered,
        _ if called => ModelStopReason::Calls,
        None | Some("stop" | "eos" | "tool_calls" | "function_call") => ModelStopReason::Done,
        Some(_) => ModelStopReason::Other,
    }
}

#[cfg(test)]
mod tests {
    use toolyard_core::ports::SystemIds;

    use super::*;

    fn calls() -> CallAssembler {
        CallAssembler::new(Arc::new(SystemIds))
    }

    fn one(name: Option<&str>, pieces: &[&str], stop: ModelStopReason) -> (Vec<ModelEvent>, ModelEvent) {
        let mut calls = calls();
        let mut out = Vec::new();
        let call = calls.open_call().unwrap();
        calls.add(call, name, "", &mut out);
        for piece in pieces {
            calls.add(call, None, piece, &mut out);
        }
        (out, calls.into_events(stop).pop().unwrap())
    }

    fn problem(event: ModelEvent) -> String {
        match event {
            ModelEvent::BadCall(bad) => bad.problem,
            other => panic!("not a bad call: {other:?}"),
        }
    }

    #[test]
    fn pieces_become_a_call_with_its_text_untouched() {
        let (events, call) = one(Some("add"), &["{\"a\":1.", "50}"], ModelStopReason::Calls);
        let ModelEvent::Call(call) = call else { panic!("{call:?}") };
        assert_eq!((call.name.as_str(), call.arguments.get()), ("add", "{\"a\":1.50}"));
        assert!(matches!(&events[0], ModelEvent::CallBegins { id, name } if *id == call.id && name == "add"));
        let texts: Vec<_> =
            events[1..].iter().map(|event| matches!(event, ModelEvent::CallText { .. })).collect();
        assert_eq!(texts, [true, true]);
    }

    #[test]
    fn a_name_that_comes_late_is_waited_for_and_a_repeated_one_is_not_doubled() {
        let mut calls = calls();
        let mut out = Vec::new();
        let call = calls.open_call().unwrap();
        calls.add(call, None, "{", &mut out);
        assert!(out.is_empty());
        calls.add(call, Some("add"), "}", &mut out);
        calls.add(call, Some("add"), "", &mut out);
        assert!(matches!(&out[..], [ModelEvent::CallBegins { name, .. }, ModelEvent::CallText { text, .. }]
            if name == "add" && text == "{}"));
        assert!(
            matches!(&calls.into_events(ModelStopReason::Calls)[..], [ModelEvent::Call(call)] if call.name == "add")
        );
    }

    #[test]
    fn no_arguments_are_an_empty_object_unless_the_answer_was_cut() {
        let (_, call) = one(Some("now"), &[], ModelStopReason::Calls);
        assert!(matches!(call, ModelEvent::Call(call) if call.arguments.get() == "{}"));
        assert_eq!(
            problem(one(Some("now"), &[], ModelStopReason::Length).1),
            "the answer was cut before the arguments"
        );
        assert_eq!(
            problem(one(Some("now"), &[" "], ModelStopReason::Filtered).1),
            "the answer was cut before the arguments"
        );
    }

    #[test]
    fn bad_calls_say_why() {
        assert_eq!(problem(one(None, &["{}"], ModelStopReason::Calls).1), "the call names no tool");
        let cut = problem(one(Some("add"), &["{\"a\":"], ModelStopReason::Length).1);
        assert_eq!(cut, "the answer was cut in the middle of the arguments");
        assert!(
            problem(one(Some("add"), &["{\"a\":"], ModelStopReason::Calls).1)
                .starts_with("the arguments are not JSON: ")
        );
        let (_, whole) = one(Some("add"), &["{\"a\":1}"], ModelStopReason::Length);
        assert!(matches!(whole, ModelEvent::Call(_)), "it was whole before the cut");
    }

    #[test]
    fn arguments_are_bounded() {
        let fits = format!("\"{}\"", "x".repeat(MAX_ARGUMENTS - 2));
        assert!(matches!(one(Some("add"), &[&fits], ModelStopReason::Calls).1, ModelEvent::Call(_)));
        let (_, over) = one(Some("add"), &[&fits, " "], ModelStopReason::Calls);
        let ModelEvent::BadCall(bad) = over else { panic!("{over:?}") };
        assert_eq!(bad.problem, format!("the arguments are longer than {MAX_ARGUMENTS} bytes"));
        assert!(bad.text.len() <= MAX_SHOWN + '…'.len_utf8());
    }

    #[test]
    fn the_number_of_calls_is_bounded() {
        let mut calls = calls();
        for _ in 0..MAX_CALLS {
            calls.open_call().unwrap();
        }
        assert_eq!(calls.open_call(), Err(TooManyCalls));
    }

    #[test]
    fn calls_take_precedence_in_the_stop_reason() {
        for (word, called, want) in [
            (Some("stop"), false, ModelStopReason::Done),
            (Some("stop"), true, ModelStopReason::Calls),
            (Some("tool_calls"), true, ModelStopReason::Calls),
            (Some("tool_calls"), false, ModelStopReason::Done),
            (Some("length"), true, ModelStopReason::Length),
            (Some("content_filter"), false, ModelStopReason::Filtered),
            (Some("weather"), false, ModelStopReason::Other),
            (None, false, ModelStopReason::Done),
            (None, true, ModelStopReason::Calls),
        ] {
            assert_eq!(parse_stop_reason(word, called), want, "{word:?} {called}");
        }
    }
}
