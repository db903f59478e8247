//! Tools and prompts that ask the client: the user, its model, its roots.
//!
//! The same question works in both eras. In the modern era the response is `input_required`, and the client calls again
//! with the input; in the legacy era the server sends a request on the stream of the call and waits.

use serde_json::{Map, Value, json};

use super::{
    message::{RpcFailure, UpstreamCall, text_result, tool_error},
    sessions::ask_client,
    state::UpstreamShared,
};

/// The tools that ask, and have no arguments.
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

/// One question to the client.
pub(super) struct ClientQuestion {
    key: &'static str,
    method: &'static str,
    params: Value,
}

impl ClientQuestion {
    /// The question in the form of the modern era, by its key.
    pub(super) fn to_entry(&self) -> (String, Value) {
        (self.key.to_owned(), json!({ "method": self.method, "params": self.params }))
    }

    /// The capability that the client needs.
    fn required_capability(&self) -> &'static str {
        self.method.split('/').next().unwrap_or_default()
    }

    /// Whether the answer has the right shape.
    fn accepts_answer(&self, answer: &Value) -> bool {
        match self.required_capability() {
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

pub(super) fn form_question(key: &'static str, message: &str, properties: Value) -> ClientQuestion {
    let required: Vec<_> =
        properties.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    let params = json!({ "mode": "form", "message": message, "requestedSchema": schema });
    ClientQuestion { key, method: "elicitation/create", params }
}

fn sampling_question(key: &'static str, prompt: &str) -> ClientQuestion {
    let messages = json!([{ "role": "user", "content": { "type": "text", "text": prompt } }]);
    let params = json!({ "messages": messages, "maxTokens": 100 });
    ClientQuestion { key, method: "sampling/createMessage", params }
}

fn roots_question(key: &'static str) -> ClientQuestion {
    ClientQuestion { key, method: "roots/list", params: json!({}) }
}

fn choice_properties() -> Value {
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

fn default_properties() -> Value {
    json!({
        "name": { "type": "string", "default": "John Doe" },
        "age": { "type": "integer", "default": 30 },
        "score": { "type": "number", "default": 95.5 },
        "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
        "verified": { "type": "boolean", "default": true },
    })
}

/// The questions of a tool, round by round. `None` if it has none.
fn question_rounds(call: &UpstreamCall, name: &str) -> Option<Vec<Vec<ClientQuestion>>> {
    let word = |argument: &str| call.argument(argument).as_str().unwrap_or_default().to_owned();
    let name_form = |key, message| form_question(key, message, json!({ "name": { "type": "string" } }));
    let confirm = || form_question("confirm", "Please confirm", json!({ "ok": { "type": "boolean" } }));
    Some(match name {
        "test_sampling" => vec![vec![sampling_question("sample", &word("prompt"))]],
        "test_elicitation" => {
            let properties = json!({
                "username": { "type": "string", "description": "User's response" },
                "email": { "type": "string", "description": "User's email address" },
            });
            vec![vec![form_question("user", &word("message"), properties)]]
        }
        "test_elicitation_sep1034_defaults" => {
            vec![vec![form_question("user", "Please check these", default_properties())]]
        }
        "test_elicitation_sep1330_enums" => {
            vec![vec![form_question("user", "Please choose", choice_properties())]]
        }
        "test_streaming_elicitation" => vec![vec![confirm()]],
        "test_input_required_result_elicitation" => vec![vec![name_form("user_name", "What is your name?")]],
        "test_input_required_result_sampling" => {
            vec![vec![sampling_question("capital_question", "What is the capital of France?")]]
        }
        "test_input_required_result_list_roots" => vec![vec![roots_question("client_roots")]],
        "test_input_required_result_request_state" | "test_input_required_result_tampered_state" => {
            vec![vec![confirm()]]
        }
        "test_input_required_result_multiple_inputs" => vec![vec![
            name_form("user_name", "What is your name?"),
            sampling_question("greeting", "Generate a greeting"),
            roots_question("client_roots"),
        ]],
        "test_input_required_result_multi_round" => {
            let color = json!({ "color": { "type": "string" } });
            vec![
                vec![name_form("step1", "Step 1: What is your name?")],
                vec![form_question("step2", "Step 2: What is your favorite color?", color)],
            ]
        }
        "test_input_required_result_capabilities" => {
            let all = vec![
                name_form("user_name", "What is your name?"),
                sampling_question("greeting", "Generate a greeting"),
            ];
            vec![all.into_iter().filter(|question| call.client_can(question.required_capability())).collect()]
        }
        _ => return None,
    })
}

/// Whether the tool keeps a state at the client between the rounds.
fn keeps_state(name: &str) -> bool {
    ["_request_state", "_multiple_inputs", "_multi_round", "_tampered_state"]
        .iter()
        .any(|end| name.ends_with(end))
}

fn final_result(name: &str, answers: &Map<String, Value>) -> Value {
    let answer = |key: &str| answers.get(key).unwrap_or(&Value::Null);
    text_result(match name {
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

/// Runs a tool that asks. `None` if it is not one of them.
pub(super) async fn call_asking_tool(
    inner: &UpstreamShared,
    call: &UpstreamCall,
    name: &str,
) -> Option<Result<Value, RpcFailure>> {
    let rounds = question_rounds(call, name)?;
    Some(match gather_answers(inner, call, &rounds, keeps_state(name)).await {
        Ok(GatherOutcome::All(answers)) => Ok(final_result(name, &answers)),
        Ok(GatherOutcome::Respond(result)) => Ok(result),
        Err(failure) => Err(failure),
    })
}

/// Asks for the user's name, for a tool that needs it before it starts.
pub(super) async fn ask_user_name(
    inner: &UpstreamShared,
    call: &UpstreamCall,
) -> Result<GatherOutcome, RpcFailure> {
    let question = form_question("user_name", "What is your name?", json!({ "name": { "type": "string" } }));
    gather_answers(inner, call, &[vec![question]], false).await
}

/// The prompt that asks for its context first.
pub(super) async fn ask_prompt_context(
    inner: &UpstreamShared,
    call: &UpstreamCall,
) -> Result<Value, RpcFailure> {
    let context = json!({ "context": { "type": "string" } });
    let rounds = [vec![form_question("user_context", "What context should the prompt use?", context)]];
    Ok(match gather_answers(inner, call, &rounds, false).await? {
        GatherOutcome::Respond(result) => result,
        GatherOutcome::All(answers) => {
            let context = &answers["user_context"]["content"]["context"];
            let message = format!("Prompt with context: {}", context.as_str().unwrap_or("none"));
            json!({ "messages": [{ "role": "user", "content": { "type": "text", "text": message } }] })
        }
    })
}

/// The outcome of asking.
pub(super) enum GatherOutcome {
    /// Every answer, by key.
    All(Map<String, Value>),
    /// The result to respond with instead.
    Respond(Value),
}

async fn gather_answers(
    inner: &UpstreamShared,
    call: &UpstreamCall,
    rounds: &[Vec<ClientQuestion>],
    keeps_state: bool,
) -> Result<GatherOutcome, RpcFailure> {
    if let Some(lacking) =
        rounds.iter().flatten().find(|question| !call.client_can(question.required_capability()))
    {
        let needs = lacking.required_capability();
        return if call.is_modern() {
            Err(RpcFailure::missing_capability(json!({ needs: {} })))
        } else {
            Ok(GatherOutcome::Respond(tool_error(format!("The client has no {needs}."))))
        };
    }
    if call.is_modern() {
        gather_modern(inner, call, rounds, keeps_state)
    } else {
        gather_legacy(call, rounds).await
    }
}

async fn gather_legacy(
    call: &UpstreamCall,
    rounds: &[Vec<ClientQuestion>],
) -> Result<GatherOutcome, RpcFailure> {
    let mut answers = Map::new();
    for question in rounds.iter().flatten() {
        let answer = ask_client(call, question.method, question.params.clone()).await?;
        if !question.accepts_answer(&answer) {
            return Ok(GatherOutcome::Respond(tool_error(format!(
                "The answer to {} is wrong: {answer}",
                question.key
            ))));
        }
        answers.insert(question.key.to_owned(), answer);
    }
    Ok(GatherOutcome::All(answers))
}

fn gather_modern(
    inner: &UpstreamShared,
    call: &UpstreamCall,
    rounds: &[Vec<ClientQuestion>],
    keeps_state: bool,
) -> Result<GatherOutcome, RpcFailure> {
    let request = format!("{} {} {}", call.method, call.target(), call.params["arguments"]);
    let state = match (keeps_state, call.params["requestState"].as_str()) {
        (true, Some(sealed)) => Some(
            inner
                .seal
                .open_state(&request, sealed)
                .ok_or_else(|| RpcFailure::invalid_params("requestState is not one of ours"))?,
        ),
        _ => None,
    };
    let given = match &call.params["inputResponses"] {
        Value::Object(given) if state.is_some() || !keeps_state => given.clone(),
        Value::Object(_) => Map::new(),
        Value::Null if call.params.get("inputResponses").is_none() => Map::new(),
        _ => return Err(RpcFailure::invalid_params("inputResponses has to be an object")),
    };
    let state = state.unwrap_or_else(|| json!({ "round": 0, "answers": {} }));
    let mut answers = state["answers"].as_object().cloned().unwrap_or_default();
    let mut round = usize::try_from(state["round"].as_u64().unwrap_or(0)).unwrap_or(0);
    for question in rounds.get(round).into_iter().flatten() {
        if let Some(answer) = given.get(question.key) {
            if !question.accepts_answer(answer) {
                return Err(RpcFailure::invalid_params(format!("the answer to {} is wrong", question.key)));
            }
            answers.insert(question.key.to_owned(), answer.clone());
        }
    }
    let missing = |round: usize| -> Map<String, Value> {
        let questions = rounds.get(round).into_iter().flatten();
        let open = questions.filter(|question| !answers.contains_key(question.key));
        open.map(ClientQuestion::to_entry).collect()
    };
    if missing(round).is_empty() {
        round += 1;
    }
    if round >= rounds.len() {
        return Ok(GatherOutcome::All(answers));
    }
    let mut result = json!({ "resultType": "input_required", "inputRequests": missing(round) });
    if keeps_state {
        let state = json!({ "round": round, "answers": answers });
        result["requestState"] = json!(inner.seal.seal_state(&request, &state));
    }
    Ok(GatherOutcome::Respond(result))
}
