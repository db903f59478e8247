//! Subscriptions of apps.
//!
//! A subscription keeps the app's own text, because an SDK app finds its handler by exactly that text.

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::{DEFAULT_LANGUAGE, MAX_SUBSCRIPTIONS, StreamEvent, StreamKind};
use crate::name::text_excerpt;

/// Longest subscription, in characters.
pub const MAX_SUBSCRIPTION_CHARS: usize = 128;

/// One subscription of an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamSubscription {
    text: String,
    kind: StreamKind,
    filter: StreamFilter,
    rate: Option<String>,
}

/// The part of a stream that the app wants.
#[derive(Debug, Clone, PartialEq, Eq)]
enum StreamFilter {
    Any,
    Language(String),
    Pair { from: Option<String>, to: String },
    Gesture(String),
}

/// Why a subscription was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RejectReason {
    /// Neither a string nor `{stream, rate}`.
    #[error("expected the name of a stream, or {{\"stream\": \"location_stream\", \"rate\": …}}")]
    NotAStream,
    /// Longer than [`MAX_SUBSCRIPTION_CHARS`].
    #[error("longer than {MAX_SUBSCRIPTION_CHARS} characters")]
    TooLong,
    /// More than [`MAX_SUBSCRIPTIONS`]; this one and all after it.
    #[error("more than {MAX_SUBSCRIPTIONS} subscriptions; this one and the rest were dropped")]
    TooMany,
    /// `transcription:english`
    #[error("expected a language such as en-US, or auto")]
    NotALanguage,
    /// `translation:en-US`
    #[error("expected two languages such as en-US-to-fr-FR, or all-to-fr-FR")]
    NotAPair,
}

/// A rejected subscription.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{subscription}`: {reason}")]
pub struct RejectedSubscription {
    /// What the app sent, truncated.
    pub subscription: String,
    /// Why it was rejected.
    pub reason: RejectReason,
}

impl StreamSubscription {
    /// Parses one entry of `subscription_update`.
    pub fn parse(entry: &Value) -> Result<Self, RejectedSubscription> {
        let (name, rate) = match entry {
            Value::String(name) => (name.as_str(), None),
            Value::Object(fields) => {
                (fields.get("stream").and_then(Value::as_str).unwrap_or_default(), fields.get("rate"))
            }
            _ => ("", None),
        };
        let rate = rate.and_then(Value::as_str).map(str::to_owned);
        let reject = |reason| RejectedSubscription { subscription: text_excerpt(name), reason };
        if name.is_empty() {
            return Err(RejectedSubscription {
                subscription: json_excerpt(entry),
                reason: RejectReason::NotAStream,
            });
        }
        let chars = |text: &str| text.chars().count();
        if chars(name) > MAX_SUBSCRIPTION_CHARS
            || rate.as_deref().is_some_and(|rate| chars(rate) > MAX_SUBSCRIPTION_CHARS)
        {
            return Err(reject(RejectReason::TooLong));
        }
        let (kind, filter) = parse_stream_name(name).map_err(reject)?;
        let rate = rate.filter(|_| kind == StreamKind::LocationStream);
        Ok(Self { text: name.to_owned(), kind, filter, rate })
    }

    /// The kind of stream.
    pub fn kind(&self) -> &StreamKind {
        &self.kind
    }

    /// The app's own text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// How often and how precisely to report the location: `realtime`, `hundredMeters`.
    pub fn rate(&self) -> Option<&str> {
        self.rate.as_deref()
    }

    /// The requested language; `None` for any language, or if it is not about speech.
    pub fn language(&self) -> Option<&str> {
        match &self.filter {
            StreamFilter::Language(language) => Some(language),
            StreamFilter::Pair { from, .. } => from.as_deref(),
            StreamFilter::Any | StreamFilter::Gesture(_) => None,
        }
    }

    /// `streamType` of its messages: the app's own text. Apps that subscribe with a rate have their handler
    /// under `location_update`.
    pub fn stream_type(&self) -> &str {
        if self.rate.is_some() { StreamKind::LocationUpdate.as_str() } else { &self.text }
    }

    /// Whether an event matches. Permissions are checked elsewhere.
    pub fn matches(&self, event: &StreamEvent) -> bool {
        let same_kind = match (&self.kind, event.kind()) {
            (StreamKind::All, _) | (StreamKind::LocationStream, StreamKind::LocationUpdate) => true,
            (wanted, kind) => wanted == kind,
        };
        same_kind
            && match (&self.filter, event) {
                (StreamFilter::Any, _) => true,
                (StreamFilter::Language(wanted), StreamEvent::Transcription { language }) => {
                    eq_ignore_case(wanted, language)
                }
                (StreamFilter::Pair { from: wanted, to: into }, StreamEvent::Translation { from, to }) => {
                    eq_ignore_case(into, to)
                        && wanted.as_ref().is_none_or(|wanted| eq_ignore_case(wanted, from))
                }
                (StreamFilter::Gesture(wanted), StreamEvent::Touch { gesture }) => wanted == gesture,
                (StreamFilter::Language(_) | StreamFilter::Pair { .. } | StreamFilter::Gesture(_), _) => {
                    false
                }
            }
    }
}

impl Serialize for StreamSubscription {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match &self.rate {
            Some(rate) => json!({ "stream": self.text, "rate": rate }).serialize(to),
            None => to.serialize_str(&self.text),
        }
    }
}

fn eq_ignore_case(left: &str, right: &str) -> bool {
    left.eq_ignore_ascii_case(right)
}

pub(super) fn json_excerpt(value: &Value) -> String {
    match value {
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object without `stream`".to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            text_excerpt(&value.to_string())
        }
    }
}

/// Parses a stream name. The query (`?hints=de`) is for the producer of the stream; matching ignores it.
fn parse_stream_name(name: &str) -> Result<(StreamKind, StreamFilter), RejectReason> {
    let head = name.split_once('?').map_or(name, |(head, _)| head);
    let (kind, rest) = head.split_once(':').map_or((head, None), |(kind, rest)| (kind, Some(rest)));
    let kind = StreamKind::from_name(kind);
    let filter = match (&kind, rest) {
        (StreamKind::Transcription, None) => StreamFilter::Language(DEFAULT_LANGUAGE.to_owned()),
        (StreamKind::Transcription, Some("auto")) => StreamFilter::Any,
        (StreamKind::Transcription, Some(language)) if is_language(language) => {
            StreamFilter::Language(language.to_owned())
        }
        (StreamKind::Transcription, Some(_)) => return Err(RejectReason::NotALanguage),
        (StreamKind::Translation, Some(pair)) => parse_pair(pair)?,
        (StreamKind::TouchEvent, Some(gesture)) => StreamFilter::Gesture(gesture.to_owned()),
        (StreamKind::Other(_), _) | (_, Some(_)) => {
            return Ok((StreamKind::Other(name.to_owned()), StreamFilter::Any));
        }
        (_, None) => StreamFilter::Any,
    };
    Ok((kind, filter))
}

fn parse_pair(pair: &str) -> Result<StreamFilter, RejectReason> {
    match pair.split_once("-to-") {
        Some(("all", to)) if is_language(to) => Ok(StreamFilter::Pair { from: None, to: to.to_owned() }),
        Some((from, to)) if is_language(from) && is_language(to) => {
            Ok(StreamFilter::Pair { from: Some(from.to_owned()), to: to.to_owned() })
        }
        _ => Err(RejectReason::NotAPair),
    }
}

/// `xx-YY` or `xxx-YY`.
fn is_language(text: &str) -> bool {
    text.split_once('-').is_some_and(|(language, region)| {
        (2..=3).contains(&language.len())
            && language.bytes().all(|b| b.is_ascii_lowercase())
            && region.len() == 2
            && region.bytes().all(|b| b.is_ascii_uppercase())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subscription(text: &str) -> StreamSubscription {
        StreamSubscription::parse(&json!(text)).unwrap()
    }

    fn speech(language: &str) -> StreamEvent {
        StreamEvent::Transcription { language: language.to_owned() }
    }

    fn translated(from: &str, to: &str) -> StreamEvent {
        StreamEvent::Translation { from: from.to_owned(), to: to.to_owned() }
    }

    fn touched(gesture: &str) -> StreamEvent {
        StreamEvent::Touch { gesture: gesture.to_owned() }
    }

    fn rejects(entry: Value) -> RejectReason {
        StreamSubscription::parse(&entry).unwrap_err().reason
    }

    #[test]
    fn transcriptions_match_by_language() {
        for text in [
            "transcription:en-US",
            "transcription:en-US?no-language-identification=true&hints=de,fr",
            "transcription",
            "transcription?hints=de",
        ] {
            assert!(subscription(text).matches(&speech("en-US")), "{text}");
            assert!(!subscription(text).matches(&speech("de-DE")), "{text}");
            assert_eq!(
                (subscription(text).stream_type(), subscription(text).language()),
                (text, Some("en-US"))
            );
        }
        for text in ["transcription:auto", "transcription:auto?hints=de", "all", "*"] {
            assert!(
                subscription(text).matches(&speech("en-US")) && subscription(text).matches(&speech("haw-US"))
            );
        }
    }

    #[test]
    fn translations_match_both_ends() {
        let pair = subscription("translation:en-US-to-fr-FR");
        assert!(pair.matches(&translated("en-US", "fr-FR")));
        assert!(!pair.matches(&translated("de-DE", "fr-FR")) && !pair.matches(&translated("en-US", "de-DE")));
        let any = subscription("translation:all-to-fr-FR?no-language-identification=true");
        assert!(any.matches(&translated("de-DE", "fr-FR")) && !any.matches(&translated("de-DE", "en-US")));
        assert!(!pair.matches(&speech("en-US")));
        assert!(subscription("translation").matches(&translated("de-DE", "en-US")));
    }

    #[test]
    fn touches_match_by_gesture() {
        assert!(subscription("touch_event").matches(&touched("single_tap")));
        assert!(subscription("touch_event:single_tap").matches(&touched("single_tap")));
        assert!(!subscription("touch_event:double_tap").matches(&touched("single_tap")));
    }

    #[test]
    fn a_location_stream_matches_location_updates() {
        let update = StreamEvent::Plain(StreamKind::LocationUpdate);
        let rated =
            StreamSubscription::parse(&json!({ "stream": "location_stream", "rate": "realtime" })).unwrap();
        assert!(rated.matches(&update) && subscription("location_stream").matches(&update));
        assert!(!subscription("location_update").matches(&StreamEvent::Plain(StreamKind::LocationStream)));
        assert_eq!((rated.rate(), rated.stream_type()), (Some("realtime"), "location_update"));
        assert_eq!(subscription("location_stream").stream_type(), "location_stream");
        let other =
            StreamSubscription::parse(&json!({ "stream": "button_press", "rate": "realtime" })).unwrap();
        assert_eq!((other.rate(), other.stream_type()), (None, "button_press"));
        assert_eq!(
            serde_json::to_value(&rated).unwrap(),
            json!({ "stream": "location_stream", "rate": "realtime" })
        );
    }

    #[test]
    fn unknown_stream_names_are_accepted_and_match_only_themselves() {
        let odd = subscription("augmentos:*");
        assert_eq!(odd.as_str(), "augmentos:*");
        assert!(!odd.matches(&StreamEvent::Plain(StreamKind::ButtonPress)));
        assert!(odd.matches(&StreamEvent::Plain(StreamKind::Other("augmentos:*".to_owned()))));
        assert!(!subscription("button_press:x").matches(&StreamEvent::Plain(StreamKind::ButtonPress)));
    }

    #[test]
    fn says_what_is_wrong() {
        for text in ["transcription:", "transcription:english", "transcription:EN-us", "transcription:en-USA"]
        {
            assert_eq!(rejects(json!(text)), RejectReason::NotALanguage, "{text}");
        }
        for text in ["translation:en-US", "translation:en-US-to-all", "translation:auto-to-en-US"] {
            assert_eq!(rejects(json!(text)), RejectReason::NotAPair, "{text}");
        }
        for entry in [json!(7), json!({ "rate": "high" }), json!(null), json!([]), json!("")] {
            assert_eq!(rejects(entry), RejectReason::NotAStream);
        }
        let error = StreamSubscription::parse(&json!("transcription:english")).unwrap_err().to_string();
        assert_eq!(error, "`transcription:english`: expected a language such as en-US, or auto");
    }

    #[test]
    fn a_subscription_has_a_longest() {
        assert!(StreamSubscription::parse(&json!("é".repeat(MAX_SUBSCRIPTION_CHARS))).is_ok());
        assert_eq!(rejects(json!("x".repeat(MAX_SUBSCRIPTION_CHARS + 1))), RejectReason::TooLong);
        let rate = "x".repeat(MAX_SUBSCRIPTION_CHARS + 1);
        assert_eq!(rejects(json!({ "stream": "location_stream", "rate": rate })), RejectReason::TooLong);
    }
}
