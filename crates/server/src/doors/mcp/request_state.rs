//! The state of a call that waits for input. The client carries it, sealed, valid for one user and one request for a
//! short time.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};
use toolyard_core::{
    CallOwner,
    executor::{AwaitedInput, CallerInput},
    ports::{SecretSealer, call_digest},
};
use toolyard_protocol::{
    mcp::{INPUT_REQUIRED, RpcError},
    raw::{RawFields, to_raw},
};

use super::{elicitation::AskedApproval, params::RpcParams, sign_in::AskedSignIn};

/// How long a state is valid.
const LIFETIME_S: i64 = 15 * 60;
/// Longest state that is accepted.
const MAX_STATE_CHARS: usize = 256 * 1024;

/// The request that a state belongs to.
pub(super) struct SealedRequest<'a> {
    pub(super) owner: &'a CallOwner,
    pub(super) method: &'a str,
    pub(super) name: &'a str,
    pub(super) arguments: Option<&'a RawValue>,
}

#[derive(Serialize, Deserialize)]
struct SealedRequestState {
    user: String,
    by: String,
    request: String,
    until: i64,
    /// The state of the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    inner: Option<Arc<str>>,
    /// What the platform asked for. Apart from the source's state, so that no source can name an approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asked: Option<AskedUser>,
}

/// What the platform itself asked the user of a client for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum AskedUser {
    /// To approve the call.
    Approval(AskedApproval),
    /// To sign in at the upstream.
    SignIn(AskedSignIn),
}

impl SealedRequest<'_> {
    fn request_digest(&self) -> String {
        let arguments: Value =
            self.arguments.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or(Value::Null);
        hex::encode(call_digest(&format!("{} {}", self.method, self.name), &arguments))
    }

    /// The result that asks the client for input.
    pub(super) fn input_required_result(
        &self,
        awaited: &AwaitedInput,
        now: Timestamp,
        secrets: &dyn SecretSealer,
    ) -> Result<Box<RawValue>, RpcError> {
        let seal = |inner: &Arc<str>| {
            let state = SealedRequestState { inner: Some(inner.clone()), ..self.new_state(now) };
            seal_state(&state, secrets)
        };
        let state = awaited.state.as_ref().map(seal).transpose()?;
        Ok(input_required(state, awaited.requests.as_deref()))
    }

    /// The result that asks the client to ask the user, or to come back if there is no question.
    pub(super) fn user_required_result(
        &self,
        asked: AskedUser,
        questions: Option<&RawValue>,
        now: Timestamp,
        secrets: &dyn SecretSealer,
    ) -> Result<Box<RawValue>, RpcError> {
        let state = SealedRequestState { asked: Some(asked), ..self.new_state(now) };
        Ok(input_required(Some(seal_state(&state, secrets)?), questions))
    }

    fn new_state(&self, now: Timestamp) -> SealedRequestState {
        SealedRequestState {
            user: self.owner.user.as_str().to_owned(),
            by: self.owner.caller.to_string(),
            request: self.request_digest(),
            until: now.as_second() + LIFETIME_S,
            inner: None,
            asked: None,
        }
    }

    /// What the client was asked for, if the request continues such a call.
    pub(super) fn read_asked(
        &self,
        params: &RpcParams,
        now: Timestamp,
        secrets: &dyn SecretSealer,
    ) -> Result<Option<AskedUser>, RpcError> {
        let Some(text) = params.get::<String>("requestState")? else { return Ok(None) };
        Ok(self.open_state(&text, now, secrets)?.asked)
    }

    /// The input that the client sends, if any.
    pub(super) fn read_input(
        &self,
        params: &RpcParams,
        now: Timestamp,
        secrets: &dyn SecretSealer,
    ) -> Result<Option<CallerInput>, RpcError> {
        let responses = params.raw("inputResponses");
        if responses.is_some_and(|raw| !raw.get().starts_with('{')) {
            return Err(RpcError::invalid_params("params.inputResponses: expected an object"));
        }
        let state = params
            .get::<String>("requestState")?
            .map(|text| self.open_state(&text, now, secrets))
            .transpose()?;
        if responses.is_none() && state.is_none() {
            return Ok(None);
        }
        let state = state.and_then(|state| state.inner);
        Ok(Some(CallerInput { responses: responses.map(|raw| raw.to_owned().into()), state }))
    }

    fn open_state(
        &self,
        text: &str,
        now: Timestamp,
        secrets: &dyn SecretSealer,
    ) -> Result<SealedRequestState, RpcError> {
        let refused = |why: &str| {
            RpcError::invalid_params(format!("params.requestState: {why}; start again without it"))
        };
        let sealed = Some(text).filter(|text| text.len() <= MAX_STATE_CHARS);
        let sealed = sealed.and_then(|text| URL_SAFE_NO_PAD.decode(text).ok());
        let opened = sealed.and_then(|sealed| secrets.unseal(&sealed).ok());
        let state: Option<SealedRequestState> = opened.and_then(|plain| serde_json::from_str(&plain).ok());
        let state = state.ok_or_else(|| refused("not issued by this server"))?;
        let theirs = state.user == self.owner.user.as_str() && state.by == self.owner.caller.to_string();
        if !theirs || state.request != self.request_digest() {
            return Err(refused("it belongs to another request"));
        }
        if state.until <= now.as_second() {
            return Err(refused("it has expired"));
        }
        Ok(state)
    }
}

fn seal_state(state: &SealedRequestState, secrets: &dyn SecretSealer) -> Result<String, RpcError> {
    let sealed = secrets.seal(to_raw(state).get()).map_err(|error| {
        tracing::error!(%error, "the state of a request was not sealed");
        RpcError::internal_error()
    })?;
    Ok(URL_SAFE_NO_PAD.encode(sealed))
}

fn input_required(state: Option<String>, questions: Option<&RawValue>) -> Box<RawValue> {
    let mut result = RawFields::default();
    if let Some(state) = state {
        result.set("requestState", to_raw(&state));
    }
    if let Some(questions) = questions {
        result.set("inputRequests", questions.to_owned());
    }
    result.set("resultType", to_raw(INPUT_REQUIRED));
    result.to_raw()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolyard_core::{Caller, ports::SystemIds};

    use super::{super::elicitation::ElicitationMode, *};
    use crate::secrets::RootKeys;

    fn owner(user: &str) -> CallOwner {
        CallOwner { user: user.parse().unwrap(), caller: Caller::User }
    }

    fn now() -> Timestamp {
        Timestamp::from_second(1_000).unwrap()
    }

    fn params(members: &Value) -> RpcParams {
        RpcParams::from_raw(Some(&to_raw(members))).unwrap()
    }

    #[test]
    fn a_state_is_for_one_user_one_request_and_a_short_time() {
        let secrets = RootKeys::new(vec![[1; 32]], Arc::new(SystemIds));
        let (ada, bob) = (owner("grace"), owner("bob"));
        let app = CallOwner { caller: Caller::App("com.other".parse().unwrap()), ..owner("grace") };
        let (arguments, others) = (to_raw(&json!({ "a": 1, "b": 2 })), to_raw(&json!({ "a": 1 })));
        let reordered: Box<RawValue> = serde_json::from_str(r#"{ "b":2, "a":1 }"#).unwrap();
        let request =
            SealedRequest { owner: &ada, method: "tools/call", name: "a:b", arguments: Some(&arguments) };
        let awaited =
            AwaitedInput { requests: Some(to_raw(&json!({ "q": {} })).into()), state: Some("inner".into()) };
        let result: Value =
            serde_json::from_str(request.input_required_result(&awaited, now(), &secrets).unwrap().get())
                .unwrap();
        assert_eq!(
            (&result["resultType"], &result["inputRequests"]),
            (&json!("input_required"), &json!({ "q": {} }))
        );
        let sealed = result["requestState"].as_str().unwrap().to_owned();
        assert!(!sealed.contains("inner") && !sealed.contains("grace"));

        let opens = |request: &SealedRequest<'_>, state: &str, now: Timestamp| {
            request
                .read_input(&params(&json!({ "requestState": state })), now, &secrets)
                .map(|input| input.unwrap().state)
        };
        let late = |seconds: i64| Timestamp::from_second(1_000 + seconds).unwrap();
        assert_eq!(opens(&request, &sealed, late(LIFETIME_S - 1)).unwrap().as_deref(), Some("inner"));
        assert!(opens(&SealedRequest { arguments: Some(&reordered), ..request }, &sealed, now()).is_ok());
        assert!(opens(&request, &sealed, late(LIFETIME_S)).is_err());
        assert!(opens(&SealedRequest { owner: &bob, ..request }, &sealed, now()).is_err());
        assert!(opens(&SealedRequest { owner: &app, ..request }, &sealed, now()).is_err());
        assert!(opens(&SealedRequest { name: "a:c", ..request }, &sealed, now()).is_err());
        assert!(opens(&SealedRequest { method: "prompts/get", ..request }, &sealed, now()).is_err());
        assert!(opens(&SealedRequest { arguments: Some(&others), ..request }, &sealed, now()).is_err());
        assert!(opens(&SealedRequest { arguments: None, ..request }, &sealed, now()).is_err());
        let (cut, long) = (&sealed[..sealed.len() - 4], "A".repeat(MAX_STATE_CHARS + 1));
        for bad in ["", "%", "AAAA", cut, &long] {
            assert!(opens(&request, bad, now()).is_err());
        }
        let strange = RootKeys::new(vec![[2; 32]], Arc::new(SystemIds));
        assert!(request.read_input(&params(&json!({ "requestState": sealed })), now(), &strange).is_err());
    }

    #[test]
    fn the_state_of_a_source_never_names_an_approval() {
        let secrets = RootKeys::new(vec![[1; 32]], Arc::new(SystemIds));
        let ada = owner("grace");
        let request = SealedRequest { owner: &ada, method: "tools/call", name: "a:b", arguments: None };
        let id = "0".repeat(32).parse().unwrap();
        let asked = AskedUser::Approval(AskedApproval { id, mode: ElicitationMode::Url, is_answered: true });
        let returned = |result: Box<RawValue>| {
            let result: Value = serde_json::from_str(result.get()).unwrap();
            params(&json!({ "requestState": result["requestState"] }))
        };
        let ours = returned(request.user_required_result(asked.clone(), None, now(), &secrets).unwrap());
        assert_eq!(request.read_asked(&ours, now(), &secrets).unwrap(), Some(asked.clone()));
        assert!(request.read_input(&ours, now(), &secrets).unwrap().unwrap().state.is_none());
        let forged = json!({ "asked": asked }).to_string();
        let awaited = AwaitedInput { requests: None, state: Some(forged.as_str().into()) };
        let theirs = returned(request.input_required_result(&awaited, now(), &secrets).unwrap());
        assert_eq!(request.read_asked(&theirs, now(), &secrets).unwrap(), None);
        let input = request.read_input(&theirs, now(), &secrets).unwrap().unwrap();
        assert_eq!(input.state.as_deref(), Some(forged.as_str()));
    }

    #[test]
    fn input_responses_are_an_object_and_need_no_state() {
        let secrets = RootKeys::new(vec![[1; 32]], Arc::new(SystemIds));
        let ada = owner("grace");
        let request = SealedRequest { owner: &ada, method: "tools/call", name: "a:b", arguments: None };
        let input = |members: Value| request.read_input(&params(&members), now(), &secrets);
        assert!(input(json!({})).unwrap().is_none());
        let some = input(json!({ "inputResponses": { "q": { "n": 1 } } })).unwrap().unwrap();
        assert_eq!((some.responses.unwrap().get(), some.state), (r#"{"q":{"n":1}}"#, None));
        for bad in [json!([]), json!("x"), json!(null)] {
            assert!(input(json!({ "inputResponses": bad })).is_err());
        }
    }
}
