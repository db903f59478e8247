//! Tools and prompts that ask the client something: the user, its model, its roots.
//!
//! The same question takes both roads. In the modern era the answer is `input_required` and the client calls again
//! with what was asked for; in the legacy era the server sends a request on the stream of the call and waits.

use serde_json::{Map, Value, json};

use super::{
    message::{Call, Failure, text, tool_error},
    sessions::ask,
    state::Inner,
};

/// The tools that ask and take no arguments.
pub(super) const TOOLS: [(&str, &str); 11] = [
    ("test_elicitation_sep1034_defaults", "Asks the user, with defaults."),
    ("test_elicitation_sep1330_enums", "Asks the user to choose."),
    ("test_streaming_elicitation", "Asks the user in the middle of its work."),
    ("test_input_required_result_elicitation", "Asks the user for a name."),
    ("test_input_required_result_sampling", "Asks the client's model."),
    ("test_input_required_result_list_roots", "Asks for the client's roots."),
    ("test_input_required_result_request_state", "Asks, and keeps a state with the client."),
    ("test_input_required_result_multiple_inputs", "Asks three things at once."),
    ("test_input_required_result_multi_round", "Asks twice, one after the other."),
    ("test_input_required_result_tampered_state", "Asks, and notices a forged state."),
    ("test_input_required_result_capabilities", "Asks only for what the client can do."),
];

/// One thing to ask for.
pub(super) struct Question {
    key: &'static str,
    method: &'static str,
    params: Value,
}

impl Question {
    /// The question as the modern era writes it, by its key.
    pub(super) fn entry(&self) -> (String, Value) {
        (self.key.to_owned(), json!({ "method": self.method, "params": self.params }))
    }

    /// The capability without which the client cannot be asked.
    fn needs(&self) -> &'static str {
        self.method.split('/').next().unwrap_or_default()
    }

    /// The shape that the answer has to have.
    fn accepts(&self, answer: &Value) -> bool {
        match self.needs() {
            "elicitation" => match answer["action"].as_str() {
                Some("accept") => {
                    let required = self.params["requestedSchema"]["required"].as_array();
                    let named = required.into_iter().flatten().filter_map(Value::as_str);
                    answer["content"].is_object()
                        && named.into_iter().all(|name| !answer["content"][name].is_null())
                }
                Some("decline" | "cancel") => true,
                _ => false,
            },
            "sampling" => answer["content"].is_object() || answer["content"].is_array(),
            _ => answer["roots"].is_array(),
        }
    }
}

pub(super) fn form(key: &'static str, message: &str, properties: Value) -> Question {
    let required: Vec<_> =
        properties.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    let params = json!({ "mode": "form", "message": message, "requestedSchema": schema });
    Question { key, method: "elicitation/create", params }
}

fn sample(key: &'static str, prompt: &str) -> Question {
    let messages = json!([{ "role": "user", "content": { "type": "text", "text": prompt } }]);
    let params = json!({ "messages": messages, "maxTokens": 100 });
    Question { key, method: "sampling/createMessage", params }
}

fn roots(key: &'static str) -> Question {
    Question { key, method: "roots/list", params: json!({}) }
}

fn choices() -> Value {
    let titled = |words: [&str; 3]| {
        let values = ["value1", "value2", "value3"];
        let options = values.into_iter().zip(words);
        options.map(|(value, title)| json!({ "const": value, "title": title })).collect::<Vec<_>>()
    };
    let plain = ["option1", "option2", "option3"];
    json!({
        "untitledSingle": { "type": "string", "enum": plain },
        "titledSingle": { "type": "string", "oneOf": titled(["First Option", "Second Option", "Third Option"]) },
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": { "type": "array", "items": { "type": "string", "enum": plain } },
        "titledMulti": {
            "type": "array",
            "items": { "anyOf": titled(["First Choice", "Second Choice", "Third Choice"]) },
        },
    })
}

fn defaults() -> Value {
    json!({
        "name": { "type": "string", "default": "John Doe" },
        "age": { "type": "integer", "default": 30 },
        "score": { "type": "number", "default": 95.5 },
        "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
        "verified": { "type": "boolean", "default": true },
    })
}

/// What a tool asks, round by round. None where it asks nothing.
fn rounds(call: &Call, name: &str) -> Option<Vec<Vec<Question>>> {
    let word = |argument: &str| call.argument(argument).as_str().unwrap_or_default().to_owned();
    let name_form = |key, message| form(key, message, json!({ "name": { "type": "string" } }));
    let confirm = || form("confirm", "Please confirm", json!({ "ok": { "type": "boolean" } }));
    Some(match name {
        "test_sampling" => vec![vec![sample("sample", &word("prompt"))]],
        "test_elicitation" => {
            let properties = json!({
                "username": { "type": "string", "description": "User's response" },
                "email": { "type": "string", "description": "User's email address" },
            });
            vec![vec![form("user", &word("message"), properties)]]
        }
        "test_elicitation_sep1034_defaults" => vec![vec![form("user", "Please check these", defaults())]],
        "test_elicitation_sep1330_enums" => vec![vec![form("user", "Please choose", choices())]],
        "test_streaming_elicitation" => vec![vec![confirm()]],
        "test_input_required_result_elicitation" => vec![vec![name_form("user_name", "What is your name?")]],
        "test_input_required_result_sampling" => {
            vec![vec![sample("capital_question", "What is the capital of France?")]]
        }
        "test_input_required_result_list_roots" => vec![vec![roots("client_roots")]],
        "test_input_required_result_request_state" | "test_input_required_result_tampered_state" => {
            vec![vec![confirm()]]
        }
        "test_input_required_result_multiple_inputs" => vec![vec![
            name_form("user_name", "What is your name?"),
            sample("greeting", "Generate a greeting"),
            roots("client_roots"),
        ]],
        "test_input_required_result_multi_round" => {
            let color = json!({ "color": { "type": "string" } });
            vec![
                vec![name_form("step1", "Step 1: What is your name?")],
                vec![form("step2", "Step 2: What is your favorite color?", color)],
            ]
        }
        "test_input_required_result_capabilities" => {
            let all =
                vec![name_form("user_name", "What is your name?"), sample("greeting", "Generate a greeting")];
            vec![all.into_iter().filter(|question| call.client_can(question.needs())).collect()]
        }
        _ => return None,
    })
}

/// Whether the tool keeps a state with the client between the rounds.
fn keeps_state(name: &str) -> bool {
    ["_request_state", "_multiple_inputs", "_multi_round", "_tampered_state"]
        .iter()
        .any(|end| name.ends_with(end))
}

fn finish(name: &str, answers: &Map<String, Value>) -> Value {
    let answer = |key: &str| answers.get(key).unwrap_or(&Value::Null);
    text(match name {
        "test_sampling" => format!("LLM response: {}", answer("sample")["content"]["text"]),
        "test_elicitation" => format!("User response: {}", answer("user")),
        "test_elicitation_sep1034_defaults" | "test_elicitation_sep1330_enums" => {
            let answer = answer("user");
            format!("Elicitation completed: action={}, content={}", answer["action"], answer["content"])
        }
        "test_input_required_result_elicitation" => {
            format!("Hello, {}!", answer("user_name")["content"]["name"].as_str().unwrap_or("stranger"))
        }
        name if keeps_state(name) => format!("state-ok {}", Value::Object(answers.clone())),
        _ => Value::Object(answers.clone()).to_string(),
    })
}

/// Answers a tool that asks. None where it is not one.
pub(super) async fn call(inner: &Inner, call: &Call, name: &str) -> Option<Result<Value, Failure>> {
    let rounds = rounds(call, name)?;
    Some(match gather(inner, call, &rounds, keeps_state(name)).await {
        Ok(Gathered::All(answers)) => Ok(finish(name, &answers)),
        Ok(Gathered::Not(result)) => Ok(result),
        Err(failure) => Err(failure),
    })
}

/// The name of the user, for a tool that needs it before it begins.
pub(super) async fn user_name(inner: &Inner, call: &Call) -> Result<Gathered, Failure> {
    let question = form("user_name", "What is your name?", json!({ "name": { "type": "string" } }));
    gather(inner, call, &[vec![question]], false).await
}

/// The prompt that asks for its context first.
pub(super) async fn prompt(inner: &Inner, call: &Call) -> Result<Value, Failure> {
    let context = json!({ "context": { "type": "string" } });
    let rounds = [vec![form("user_context", "What context should the prompt use?", context)]];
    Ok(match gather(inner, call, &rounds, false).await? {
        Gathered::Not(result) => result,
        Gathered::All(answers) => {
            let context = &answers["user_context"]["content"]["context"];
            let message = format!("Prompt with context: {}", context.as_str().unwrap_or("none"));
            json!({ "messages": [{ "role": "user", "content": { "type": "text", "text": message } }] })
        }
    })
}

/// What came of asking.
pub(super) enum Gathered {
    /// Every answer, by key.
    All(Map<String, Value>),
    /// What to answer instead.
    Not(Value),
}

async fn gather(
    inner: &Inner,
    call: &Call,
    rounds: &[Vec<Question>],
    keeps_state: bool,
) -> Result<Gathered, Failure> {
    if let Some(lacking) = rounds.iter().flatten().find(|question| !call.client_can(question.needs())) {
        let needs = lacking.needs();
        return if call.is_modern() {
            Err(Failure::capability(json!({ needs: {} })))
        } else {
            Ok(Gathered::Not(tool_error(format!("The client has no {needs}."))))
        };
    }
    if call.is_modern() { modern(inner, call, rounds, keeps_state) } else { legacy(call, rounds).await }
}

async fn legacy(call: &Call, rounds: &[Vec<Question>]) -> Result<Gathered, Failure> {
    let mut answers = Map::new();
    for question in rounds.iter().flatten() {
        let answer = ask(call, question.method, question.params.clone()).await?;
        if !question.accepts(&answer) {
            return Ok(Gathered::Not(tool_error(format!(
                "The answer to {} is wrong: {answer}",
                question.key
            ))));
        }
        answers.insert(question.key.to_owned(), answer);
    }
    Ok(Gathered::All(answers))
}

fn modern(
    inner: &Inner,
    call: &Call,
    rounds: &[Vec<Question>],
    keeps_state: bool,
) -> Result<Gathered, Failure> {
    let request = format!("{} {} {}", call.method, call.target(), call.params["arguments"]);
    let state = match (keeps_state, call.params["requestState"].as_str()) {
        (true, Some(sealed)) => Some(
            inner
                .seal
                .open(&request, sealed)
                .ok_or_else(|| Failure::params("requestState is not one of ours"))?,
        ),
        _ => None,
    };
    let given = match &call.params["inputResponses"] {
        Value::Object(given) if state.is_some() || !keeps_state => given.clone(),
        Value::Object(_) => Map::new(),
        Value::Null if call.params.get("inputResponses").is_none() => Map::new(),
        _ => return Err(Failure::params("inputResponses has to be an object")),
    };
    let state = state.unwrap_or_else(|| json!({ "round": 0, "answers": {} }));
    let mut answers = state["answers"].as_object().cloned().unwrap_or_default();
    let mut round = usize::try_from(state["round"].as_u64().unwrap_or(0)).unwrap_or(0);
    for question in rounds.get(round).into_iter().flatten() {
        if let Some(answer) = given.get(question.key) {
            if !question.accepts(answer) {
                return Err(Failure::params(format!("the answer to {} is wrong", question.key)));
            }
            answers.insert(question.key.to_owned(), answer.clone());
        }
    }
    let missing = |round: usize| -> Map<String, Value> {
        let questions = rounds.get(round).into_iter().flatten();
        let open = questions.filter(|question| !answers.contains_key(question.key));
        open.map(Question::entry).collect()
    };
    if missing(round).is_empty() {
        round += 1;
    }
    if round >= rounds.len() {
        return Ok(Gathered::All(answers));
    }
    let mut result = json!({ "resultType": "input_required", "inputRequests": missing(round) });
    if keeps_state {
        let state = json!({ "round": round, "answers": answers });
        result["requestState"] = json!(inner.seal.close(&request, &state));
    }
    Ok(Gathered::Not(result))
}
