//! `GET /api/tts`: text to speech.
//!
//! Audio players fetch a URL and send no headers. So a URL that this server signed for a device is enough. All other
//! requests need a credential.

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderValue, Method, header};
use serde_json::Value;
use toolyard_protocol::{UserId, api::ApiErrorCode};
use toolyard_sessions::{SPEECH_PARAMETERS, SPEECH_SIGNATURE};

use crate::{
    auth::{AuthRefusal, identify_actor},
    config::SoundFormat,
    error::RequestError,
    extract::QueryParams,
    hosts::RESOURCE_POLICY,
    routes::{Route, RouteAccess},
    speech::{SpeakError, SpeechRequest, is_language_tag},
    state::ServerState,
};

/// Slowest and fastest speech, in percent of normal speed.
const SPEEDS: (f64, f64) = (70.0, 200.0);
/// The user to count for, if the credential has a name that is not a valid user id.
const FALLBACK_USER: &str = "somebody";

pub(crate) fn routes() -> Vec<Route> {
    const TEXT: &str = "Text to speech, with a credential or by a URL that the server signed for a device";
    vec![
        Route::checked_by_handler(Method::GET, "/api/tts", RouteAccess::Authenticated, TEXT, speak_text)
            .query(&[
                ("text", "The text to speak."),
                ("language", "`de` or `de-DE`; selects the operator's voice for it."),
                ("voice_id", "A voice that the operator has configured; others are ignored."),
                ("voice_settings", "JSON; only `speed` is used, 1 is normal."),
                ("format", "`wav`, `mp3`, `opus`, `aac` or `flac`, if the server can produce it."),
                ("model_id", "Ignored: the operator chooses the model."),
                ("expires", "Of a signed URL: expiry, in seconds since 1970."),
                ("for", "Of a signed URL: the user that it was made for."),
                ("signature", "Of a signed URL: replaces a credential."),
            ]),
    ]
}

/// The query parameters. Known ones must not be repeated.
struct SpeechQuery(Vec<(String, String)>);

impl SpeechQuery {
    fn from_pairs(pairs: Vec<(String, String)>) -> Result<Self, RequestError> {
        for (at, (name, _)) in pairs.iter().enumerate() {
            let known = SPEECH_PARAMETERS.contains(&name.as_str()) || name == SPEECH_SIGNATURE;
            if known && pairs.iter().skip(at + 1).any(|(other, _)| other == name) {
                return Err(RequestError::invalid_request(format!("`{name}` occurs twice; send it once")));
            }
        }
        Ok(Self(pairs))
    }

    fn value_of(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(named, _)| named == name).map(|(_, value)| value.as_str())
    }
}

async fn speak_text(
    State(state): State<ServerState>,
    QueryParams(pairs): QueryParams<Vec<(String, String)>>,
    headers: HeaderMap,
) -> Result<Response, RequestError> {
    let query = SpeechQuery::from_pairs(pairs)?;
    let who = speech_user(&state, &query, &headers).await?;
    let request = parse_speech(&query, state.speech.text_chars)?;
    match state.speech.speak(&who, &request).await {
        Ok(sound) => {
            // A page of any origin may play a signed URL: the signature authorizes it.
            let is_signed = query.value_of(SPEECH_SIGNATURE).is_some();
            let policy = if is_signed { "cross-origin" } else { "same-origin" };
            let headers = [
                (header::CONTENT_TYPE, HeaderValue::from_static(sound.media_type)),
                (header::CACHE_CONTROL, HeaderValue::from_static("private, max-age=60")),
                (RESOURCE_POLICY, HeaderValue::from_static(policy)),
            ];
            Ok((headers, sound.bytes).into_response())
        }
        Err(error) => Ok(speak_error_response(&error)),
    }
}

/// The user that the request counts for, from the signed URL or the credential. If there is a signature, it must be valid.
async fn speech_user(
    state: &ServerState,
    query: &SpeechQuery,
    headers: &HeaderMap,
) -> Result<UserId, RequestError> {
    let name = if query.value_of(SPEECH_SIGNATURE).is_some() {
        let now = state.clock.now().as_second();
        let user = state.speech.links.verify_url(|name| query.value_of(name), now);
        user.map_err(|error| RequestError::new(ApiErrorCode::Forbidden, error.to_string()))?.to_owned()
    } else {
        identify_actor(state, headers).await?.name()
    };
    let somebody = || FALLBACK_USER.parse().map_err(|_| RequestError::from(AuthRefusal::NoUser));
    name.parse().or_else(|_| somebody())
}

fn parse_speech(query: &SpeechQuery, max_chars: usize) -> Result<SpeechRequest<'_>, RequestError> {
    let text = query.value_of("text").unwrap_or_default();
    if text.trim().is_empty() {
        return Err(RequestError::invalid_request("text: missing; send the text to speak"));
    }
    let length = text.chars().count();
    if length > max_chars {
        return Err(RequestError::invalid_request(format!(
            "text: {length} characters; at most {max_chars} are allowed"
        )));
    }
    let language = query.value_of("language").filter(|language| !language.is_empty());
    if language.is_some_and(|language| !is_language_tag(language)) {
        return Err(RequestError::invalid_request("language: expected a language such as de or de-DE"));
    }
    Ok(SpeechRequest {
        text,
        voice_id: query.value_of("voice_id"),
        language,
        format: query.value_of("format").filter(|format| !format.is_empty()).map(parse_format).transpose()?,
        speed: query.value_of("voice_settings").map(parse_speed).transpose()?.flatten(),
    })
}

fn parse_format(named: &str) -> Result<SoundFormat, RequestError> {
    let found = SoundFormat::ALL.into_iter().find(|format| format.as_str().eq_ignore_ascii_case(named));
    let names = || SoundFormat::ALL.map(SoundFormat::as_str).join(", ");
    found.ok_or_else(|| RequestError::invalid_request(format!("format: expected one of {}", names())))
}

/// Voice settings differ between vendors. All have a speed.
fn parse_speed(settings: &str) -> Result<Option<u16>, RequestError> {
    let wrong =
        || RequestError::invalid_request("voice_settings: expected a JSON object such as {\"speed\":1.1}");
    let Ok(Value::Object(settings)) = serde_json::from_str(settings) else { return Err(wrong()) };
    let Some(speed) = settings.get("speed") else { return Ok(None) };
    let percent = (speed.as_f64().ok_or_else(wrong)? * 100.0).round().clamp(SPEEDS.0, SPEEDS.1);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 70 and 200")]
    Ok(Some(percent as u16))
}

fn speak_error_response(error: &SpeakError) -> Response {
    let code = match error {
        SpeakError::NotConfigured => ApiErrorCode::NotImplemented,
        SpeakError::Format(_) | SpeakError::Language(_) => ApiErrorCode::InvalidRequest,
        SpeakError::TooLong(_) => ApiErrorCode::TooLarge,
        SpeakError::RateLimited(_) => ApiErrorCode::RateLimited,
        SpeakError::Busy | SpeakError::TimedOut | SpeakError::Failed(_) => ApiErrorCode::Unavailable,
    };
    let mut response = RequestError::new(code, error.to_string()).into_response();
    if let SpeakError::RateLimited(wait) = error {
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds.max(1)));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speed_is_read_from_the_settings_and_clamped() {
        let read = |settings| parse_speed(settings).ok().flatten();
        assert_eq!(read(r#"{"stability":0.7,"speed":1.1}"#), Some(110));
        assert_eq!((read(r#"{"speed":0}"#), read(r#"{"speed":1e300}"#)), (Some(70), Some(200)));
        assert_eq!(read("{}"), None);
        for bad in ["", "[]", "fast", r#"{"speed":"fast"}"#, "{"] {
            assert!(parse_speed(bad).is_err(), "{bad}");
        }
    }
}
