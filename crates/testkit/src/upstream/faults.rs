//! Injected faults: for which requests, and what happens instead of the normal response.

use std::str::FromStr;

use serde_json::{Value, json};

use super::message::{AnswerStep, UpstreamCall};

/// The requests that a fault applies to.
#[derive(Debug, Clone)]
pub struct RequestMatch {
    method: String,
    name: Option<String>,
    page: Option<usize>,
    times: Option<usize>,
}

impl RequestMatch {
    /// Every request of a method.
    pub fn for_method(method: &str) -> Self {
        Self { method: method.to_owned(), name: None, page: None, times: None }
    }

    /// Every call to a tool.
    pub fn for_tool(name: &str) -> Self {
        Self::for_method("tools/call").with_name(name)
    }

    /// Only those that name this tool, prompt or resource.
    pub fn with_name(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// Only this page of a list, counted from 1.
    pub fn on_page(mut self, page: usize) -> Self {
        self.page = Some(page);
        self
    }

    /// Only this many times.
    pub fn times(mut self, times: usize) -> Self {
        self.times = Some(times);
        self
    }

    fn matches_call(&self, call: &UpstreamCall, page: usize) -> bool {
        self.times != Some(0)
            && self.method == call.method
            && self.name.as_deref().is_none_or(|name| name == call.target())
            && self.page.is_none_or(|wanted| wanted == page)
    }
}

/// What happens to a request.
#[derive(Debug, Clone)]
pub enum InjectedFault {
    /// Never responds.
    Hang,
    /// Waits for [`super::FakeUpstream::let_through`], then responds normally.
    Hold,
    /// Closes the connection without a response.
    Die,
    /// Starts a response and closes the connection.
    DieMidway,
    /// Responds with this result, unchanged.
    Result(Value),
    /// Responds with this result in an indented message, with these line breaks.
    Indented(Value, &'static str),
    /// Responds with this error.
    Error(i64, String, Option<Value>),
    /// Responds with this JSON as the whole message, unchanged.
    Message(Value),
    /// Responds with these bytes, this status and content type; over stdio they are a line.
    Raw(u16, String, Vec<u8>),
}

impl InjectedFault {
    /// Text instead of JSON.
    pub fn not_json() -> Self {
        Self::Raw(200, "application/json".to_owned(), b"this is not JSON {".to_vec())
    }

    /// An HTML page, as proxies send it.
    pub fn html(status: u16) -> Self {
        Self::Raw(status, "text/html".to_owned(), b"<h1>not here</h1>".to_vec())
    }

    /// A status without a body.
    pub fn status(status: u16) -> Self {
        Self::Raw(status, "text/plain".to_owned(), Vec::new())
    }

    /// JSON-RPC, with a result of the wrong shape.
    pub fn wrong_shape() -> Self {
        Self::Result(json!("a string is not a result"))
    }

    /// An error with this code.
    pub fn error(code: i64, message: &str) -> Self {
        Self::Error(code, message.to_owned(), None)
    }

    /// The fault as a step of the response. `None` if the request must wait.
    pub(super) fn into_step(self, call: &UpstreamCall) -> Option<AnswerStep> {
        let result = |result: Value| json!({ "jsonrpc": "2.0", "id": call.id, "result": result });
        Some(match self {
            Self::Hang | Self::Hold => return None,
            Self::Die => AnswerStep::Cut,
            Self::DieMidway => AnswerStep::CutMidway,
            Self::Result(value) => AnswerStep::Answer(200, result(value)),
            Self::Error(code, message, data) => {
                let mut error = json!({ "code": code, "message": message });
                if let Some(data) = data {
                    error["data"] = data;
                }
                AnswerStep::Answer(200, json!({ "jsonrpc": "2.0", "id": call.id, "error": error }))
            }
            Self::Message(message) => AnswerStep::Answer(200, message),
            Self::Indented(value, line_break) => {
                let body = format!("{:#}", result(value)).replace('\n', line_break).into_bytes();
                AnswerStep::Raw { status: 200, kind: "application/json".to_owned(), body }
            }
            Self::Raw(status, kind, body) => AnswerStep::Raw { status, kind, body },
        })
    }
}

impl FromStr for InjectedFault {
    type Err = String;

    /// The faults that can be given on a command line.
    fn from_str(word: &str) -> Result<Self, String> {
        Ok(match word {
            "hang" => Self::Hang,
            "die" => Self::Die,
            "die-midway" => Self::DieMidway,
            "not-json" => Self::not_json(),
            "wrong-shape" => Self::wrong_shape(),
            _ => return Err(format!("{word} is none of hang, die, die-midway, not-json, wrong-shape")),
        })
    }
}

/// The injected faults, latest first.
#[derive(Default)]
pub(super) struct FaultQueue(Vec<(RequestMatch, InjectedFault)>);

impl FaultQueue {
    pub(super) fn add(&mut self, on: RequestMatch, behave: InjectedFault) {
        self.0.insert(0, (on, behave));
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn take_fault(&mut self, call: &UpstreamCall, page: usize) -> Option<InjectedFault> {
        let (on, behave) = self.0.iter_mut().find(|(on, _)| on.matches_call(call, page))?;
        if let Some(times) = &mut on.times {
            *times -= 1;
        }
        Some(behave.clone())
    }
}
