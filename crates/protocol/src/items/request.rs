//! Requests to an app for a prompt or a resource.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::id::{CallId, UserId};

/// Error code of an app that has no such prompt or resource.
pub const NOT_FOUND: &str = "NOT_FOUND";

/// Body of `POST {publicUrl}/prompt`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PromptRequest {
    /// The prompt's name in the app.
    pub name: String,
    /// Its arguments, an object.
    pub arguments: Box<RawValue>,
    /// User and time.
    pub context: AppRequestContext,
}

/// Body of `POST {publicUrl}/resource`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ResourceRequest {
    /// The URI as the app knows it.
    pub uri: String,
    /// User and time.
    pub context: AppRequestContext,
}

/// User, time and id of a request to an app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AppRequestContext {
    /// The user.
    pub user_id: UserId,
    /// ISO 8601 in UTC.
    pub timestamp: String,
    /// The request's id on the platform.
    pub call_id: CallId,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::to_raw;

    #[test]
    fn both_bodies_are_as_documented() {
        let context = AppRequestContext {
            user_id: "ada@example.com".parse().unwrap(),
            timestamp: "2026-01-02T03:04:05.678Z".to_owned(),
            call_id: "c1".parse().unwrap(),
        };
        let about =
            r#""context":{"userId":"ada@example.com","timestamp":"2026-01-02T03:04:05.678Z","callId":"c1"}}"#;
        let arguments = serde_json::from_str(r#"{"day": "monday"}"#).unwrap();
        let prompt = PromptRequest { name: "plan_day".to_owned(), arguments, context: context.clone() };
        assert_eq!(
            to_raw(&prompt).get(),
            format!(r#"{{"name":"plan_day","arguments":{{"day": "monday"}},{about}"#)
        );
        let resource = ResourceRequest { uri: "todo://list".to_owned(), context };
        let text = format!(r#"{{"uri":"todo://list",{about}"#);
        assert_eq!(to_raw(&resource).get(), text);
        assert_eq!(serde_json::from_str::<ResourceRequest>(&text).unwrap().context, resource.context);
    }
}
