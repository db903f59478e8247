//! The JSON around a call: which key holds the name, and which the arguments.

use std::collections::BTreeMap;

use serde_json::{Value, value::RawValue};

use super::{
    json, limits,
    problem::CallProblem,
    tools::{self, CallableTools},
};

const NAME_KEYS: [&str; 5] = ["name", "tool", "tool_name", "function", "function_name"];
const ARGUMENT_KEYS: [&str; 7] =
    ["arguments", "args", "params", "parameters", "input", "tool_input", "action_input"];
/// Keys without information about the call.
const BESIDE_KEYS: [&str; 4] = ["id", "type", "index", "call_id"];
/// Keys that only a tool definition has.
const DEFINITION_KEYS: [&str; 3] = ["description", "inputSchema", "input_schema"];
/// The key of a list of calls.
const LIST_KEY: &str = "tool_calls";

/// A parsed call.
#[derive(Debug)]
pub(super) struct ParsedCall {
    pub(super) name: String,
    pub(super) arguments: Box<RawValue>,
    pub(super) form: EnvelopeForm,
}

/// How certain it is that a call was meant, if there is no marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EnvelopeForm {
    /// Name and arguments.
    Full,
    /// `{"tool":{…}}` with arguments that the tool has.
    Keyed,
    /// A call only if a marker says so.
    Weak,
}

/// A call that cannot be run.
#[derive(Debug)]
pub(super) struct CallFault {
    pub(super) name: Option<String>,
    pub(super) problem: CallProblem,
}

impl From<CallProblem> for CallFault {
    fn from(problem: CallProblem) -> Self {
        Self { name: None, problem }
    }
}

/// A call, or its fault.
pub(super) type CallParseResult = Result<ParsedCall, CallFault>;

/// All calls in a JSON text, in any envelope.
pub(super) fn parse_calls(text: &str, tools: &CallableTools) -> Vec<CallParseResult> {
    let text = json::strip_wrapping(text);
    if text.is_empty() {
        return vec![Err(CallProblem::Empty.into())];
    }
    let mut reads = Vec::new();
    for value in json::split_values(text) {
        match value.and_then(json::to_valid_json) {
            Ok(valid) => read_value(&valid, tools, NestedEnvelopes::Allowed, &mut reads),
            Err(problem) => reads.push(Err(CallFault { name: json::guess_name(text), problem })),
        }
        if reads.len() > limits::MAX_CALLS {
            break;
        }
    }
    if reads.is_empty() {
        reads.push(Err(CallProblem::NotJson.into()));
    }
    reads
}

/// A call by name, with the arguments as written.
pub(super) fn resolve_call(
    name: &str,
    arguments: Result<Box<RawValue>, CallProblem>,
    tools: &CallableTools,
) -> CallParseResult {
    let Some(spec) = tools.find(name) else {
        let name = name.trim().to_owned();
        let problem = if name.is_empty() { CallProblem::NoName } else { CallProblem::Unknown(name.clone()) };
        return Err(CallFault { name: Some(name).filter(|name| !name.is_empty()), problem });
    };
    match arguments {
        Ok(arguments) => Ok(ParsedCall { name: spec.name.clone(), arguments, form: EnvelopeForm::Full }),
        Err(problem) => Err(CallFault { name: Some(spec.name.clone()), problem }),
    }
}

/// Whether an envelope may hold lists and further envelopes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NestedEnvelopes {
    Allowed,
    No,
}

fn read_value(json: &str, tools: &CallableTools, inner: NestedEnvelopes, reads: &mut Vec<CallParseResult>) {
    if let Ok(list) = serde_json::from_str::<Vec<&RawValue>>(json) {
        if list.is_empty() {
            reads.push(Err(CallProblem::Empty.into()));
        }
        for value in list.into_iter().take(limits::MAX_CALLS + 1) {
            reads.push(read_object(value.get(), tools));
        }
        return;
    }
    let Ok(members) = serde_json::from_str::<BTreeMap<String, &RawValue>>(json) else {
        reads.push(Err(CallProblem::Shape.into()));
        return;
    };
    match members.get(LIST_KEY).filter(|_| inner == NestedEnvelopes::Allowed) {
        Some(list) => read_value(list.get(), tools, NestedEnvelopes::No, reads),
        None => reads.push(read_members(&members, tools)),
    }
}

fn read_object(json: &str, tools: &CallableTools) -> CallParseResult {
    match serde_json::from_str::<BTreeMap<String, &RawValue>>(json) {
        Ok(members) => read_members(&members, tools),
        Err(_) => Err(CallProblem::Shape.into()),
    }
}

fn read_members(members: &BTreeMap<String, &RawValue>, tools: &CallableTools) -> CallParseResult {
    if let Some(function) = members.get("function").filter(|function| function.get().starts_with('{')) {
        let inner = serde_json::from_str::<BTreeMap<String, &RawValue>>(function.get());
        return inner.map_or_else(|_| Err(CallProblem::Shape.into()), |inner| read_plain(&inner, tools));
    }
    read_plain(members, tools)
}

fn read_plain(members: &BTreeMap<String, &RawValue>, tools: &CallableTools) -> CallParseResult {
    let text_of = |key: &&str| serde_json::from_str::<String>(members.get(*key)?.get()).ok();
    let Some(name) = NAME_KEYS.iter().find_map(text_of) else { return read_keyed(members, tools) };
    let given = ARGUMENT_KEYS.iter().find_map(|key| members.get(*key));
    if DEFINITION_KEYS.iter().any(|key| members.contains_key(*key))
        || given.is_some_and(|given| is_schema(given.get()))
    {
        return Err(CallFault { name: Some(name), problem: CallProblem::Definition });
    }
    match given {
        Some(given) => resolve_call(&name, given_arguments(given), tools),
        None => {
            let beside =
                |key: &&String| !NAME_KEYS.contains(&key.as_str()) && !BESIDE_KEYS.contains(&key.as_str());
            let read = resolve_call(&name, json::no_arguments(), tools)?;
            if members.keys().any(|key| beside(&key)) {
                return Err(CallFault { name: Some(read.name), problem: CallProblem::Loose });
            }
            Ok(ParsedCall { form: EnvelopeForm::Weak, ..read })
        }
    }
}

/// `{"tool":{…}}`.
fn read_keyed(members: &BTreeMap<String, &RawValue>, tools: &CallableTools) -> CallParseResult {
    let mut all = members.iter();
    let (Some((key, value)), None) = (all.next(), all.next()) else { return Err(CallProblem::NoName.into()) };
    let Some(spec) = tools.find(key) else { return Err(CallProblem::NoName.into()) };
    let found = resolve_call(key, given_arguments(value), tools)?;
    let known = serde_json::from_str::<BTreeMap<String, &RawValue>>(found.arguments.get())
        .is_ok_and(|given| given.keys().all(|name| tools::argument_schema(spec, name).is_some()));
    Ok(ParsedCall { form: if known { EnvelopeForm::Keyed } else { EnvelopeForm::Weak }, ..found })
}

/// Arguments as an object, or as JSON text in a string.
fn given_arguments(given: &RawValue) -> Result<Box<RawValue>, CallProblem> {
    if given.get() == "null" {
        return json::no_arguments();
    }
    match serde_json::from_str::<String>(given.get()) {
        Ok(text) if text.trim().is_empty() => json::no_arguments(),
        Ok(text) if json::strip_wrapping(&text).starts_with(['{', '[']) => json::parse_arguments(&text),
        Ok(_) | Err(_) => Ok(given.to_owned()),
    }
}

/// `{"type":"object","properties":…}` is the schema of a tool, not its arguments.
fn is_schema(json: &str) -> bool {
    serde_json::from_str::<BTreeMap<String, Value>>(json).is_ok_and(|members| {
        members.get("type").is_some_and(|kind| kind == "object")
            && members.get("properties").is_some_and(Value::is_object)
    })
}
