//! The JSON around a call: which member is the name, which are the arguments.

use std::collections::BTreeMap;

use serde_json::{Value, value::RawValue};

use super::{
    json, limits,
    tools::{self, Tools},
    wrong::Wrong,
};

const NAME_KEYS: [&str; 5] = ["name", "tool", "tool_name", "function", "function_name"];
const ARGUMENT_KEYS: [&str; 7] =
    ["arguments", "args", "params", "parameters", "input", "tool_input", "action_input"];
/// Members that say nothing about what is called.
const BESIDE_KEYS: [&str; 4] = ["id", "type", "index", "call_id"];
/// Members that only the description of a tool has.
const DEFINITION_KEYS: [&str; 3] = ["description", "inputSchema", "input_schema"];
/// Lists of calls.
const LIST_KEY: &str = "tool_calls";

/// A call that was read.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) name: String,
    pub(super) arguments: Box<RawValue>,
    pub(super) form: Form,
}

/// How sure it is that a call was meant, where no marker says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Name and arguments.
    Full,
    /// `{"tool":{…}}` with arguments that the tool has.
    Keyed,
    /// Only a marker makes a call of it.
    Weak,
}

/// Something that was meant as a call.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) name: Option<String>,
    pub(super) wrong: Wrong,
}

impl From<Wrong> for Fault {
    fn from(wrong: Wrong) -> Self {
        Self { name: None, wrong }
    }
}

/// A call, or what is wrong with it.
pub(super) type Read = Result<Found, Fault>;

/// All calls of a text that is JSON, in whatever envelope.
pub(super) fn calls(text: &str, tools: &Tools) -> Vec<Read> {
    let text = json::bare(text);
    if text.is_empty() {
        return vec![Err(Wrong::Empty.into())];
    }
    let mut reads = Vec::new();
    for value in json::values(text) {
        match value.and_then(json::valid) {
            Ok(valid) => read_value(&valid, tools, Inner::Allowed, &mut reads),
            Err(wrong) => reads.push(Err(Fault { name: json::name_in(text), wrong })),
        }
        if reads.len() > limits::MAX_CALLS {
            break;
        }
    }
    if reads.is_empty() {
        reads.push(Err(Wrong::NotJson.into()));
    }
    reads
}

/// A call by name, with its arguments as they were written.
pub(super) fn named(name: &str, arguments: Result<Box<RawValue>, Wrong>, tools: &Tools) -> Read {
    let Some(spec) = tools.find(name) else {
        let name = name.trim().to_owned();
        let wrong = if name.is_empty() { Wrong::NoName } else { Wrong::Unknown(name.clone()) };
        return Err(Fault { name: Some(name).filter(|name| !name.is_empty()), wrong });
    };
    match arguments {
        Ok(arguments) => Ok(Found { name: spec.name.clone(), arguments, form: Form::Full }),
        Err(wrong) => Err(Fault { name: Some(spec.name.clone()), wrong }),
    }
}

/// Whether an envelope may hold lists and further envelopes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inner {
    Allowed,
    No,
}

fn read_value(json: &str, tools: &Tools, inner: Inner, reads: &mut Vec<Read>) {
    if let Ok(list) = serde_json::from_str::<Vec<&RawValue>>(json) {
        if list.is_empty() {
            reads.push(Err(Wrong::Empty.into()));
        }
        for value in list.into_iter().take(limits::MAX_CALLS + 1) {
            reads.push(read_object(value.get(), tools));
        }
        return;
    }
    let Ok(members) = serde_json::from_str::<BTreeMap<String, &RawValue>>(json) else {
        reads.push(Err(Wrong::Shape.into()));
        return;
    };
    match members.get(LIST_KEY).filter(|_| inner == Inner::Allowed) {
        Some(list) => read_value(list.get(), tools, Inner::No, reads),
        None => reads.push(read_members(&members, tools)),
    }
}

fn read_object(json: &str, tools: &Tools) -> Read {
    match serde_json::from_str::<BTreeMap<String, &RawValue>>(json) {
        Ok(members) => read_members(&members, tools),
        Err(_) => Err(Wrong::Shape.into()),
    }
}

fn read_members(members: &BTreeMap<String, &RawValue>, tools: &Tools) -> Read {
    if let Some(function) = members.get("function").filter(|function| function.get().starts_with('{')) {
        let inner = serde_json::from_str::<BTreeMap<String, &RawValue>>(function.get());
        return inner.map_or_else(|_| Err(Wrong::Shape.into()), |inner| read_plain(&inner, tools));
    }
    read_plain(members, tools)
}

fn read_plain(members: &BTreeMap<String, &RawValue>, tools: &Tools) -> Read {
    let text_of = |key: &&str| serde_json::from_str::<String>(members.get(*key)?.get()).ok();
    let Some(name) = NAME_KEYS.iter().find_map(text_of) else { return read_keyed(members, tools) };
    let given = ARGUMENT_KEYS.iter().find_map(|key| members.get(*key));
    if DEFINITION_KEYS.iter().any(|key| members.contains_key(*key))
        || given.is_some_and(|given| is_schema(given.get()))
    {
        return Err(Fault { name: Some(name), wrong: Wrong::Definition });
    }
    match given {
        Some(given) => named(&name, arguments(given), tools),
        None => {
            let beside =
                |key: &&String| !NAME_KEYS.contains(&key.as_str()) && !BESIDE_KEYS.contains(&key.as_str());
            let read = named(&name, json::no_arguments(), tools)?;
            if members.keys().any(|key| beside(&key)) {
                return Err(Fault { name: Some(read.name), wrong: Wrong::Loose });
            }
            Ok(Found { form: Form::Weak, ..read })
        }
    }
}

/// `{"tool":{…}}`.
fn read_keyed(members: &BTreeMap<String, &RawValue>, tools: &Tools) -> Read {
    let mut all = members.iter();
    let (Some((key, value)), None) = (all.next(), all.next()) else { return Err(Wrong::NoName.into()) };
    let Some(spec) = tools.find(key) else { return Err(Wrong::NoName.into()) };
    let found = named(key, arguments(value), tools)?;
    let known = serde_json::from_str::<BTreeMap<String, &RawValue>>(found.arguments.get())
        .is_ok_and(|given| given.keys().all(|name| tools::argument(spec, name).is_some()));
    Ok(Found { form: if known { Form::Keyed } else { Form::Weak }, ..found })
}

/// Arguments as an object, or as the text of one.
fn arguments(given: &RawValue) -> Result<Box<RawValue>, Wrong> {
    if given.get() == "null" {
        return json::no_arguments();
    }
    match serde_json::from_str::<String>(given.get()) {
        Ok(text) if text.trim().is_empty() => json::no_arguments(),
        Ok(text) if json::bare(&text).starts_with(['{', '[']) => json::arguments(&text),
        Ok(_) | Err(_) => Ok(given.to_owned()),
    }
}

/// `{"type":"object","properties":…}` is what a tool takes, not what it is given.
fn is_schema(json: &str) -> bool {
    serde_json::from_str::<BTreeMap<String, Value>>(json).is_ok_and(|members| {
        members.get("type").is_some_and(|kind| kind == "object")
            && members.get("properties").is_some_and(Value::is_object)
    })
}
