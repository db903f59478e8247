//! All subscriptions of one app, and the events that match them.

use serde::Serialize;
use serde_json::Value;

use super::{
    PermissionSet, StreamEvent,
    subscription::{RejectReason, RejectedSubscription, StreamSubscription, json_excerpt},
};
use crate::name::text_excerpt;

/// Maximum number of subscriptions of one app.
pub const MAX_SUBSCRIPTIONS: usize = 64;

/// All subscriptions of one app. An update replaces the whole set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct SubscriptionSet(Vec<StreamSubscription>);

impl SubscriptionSet {
    /// Parses the list of a `subscription_update`. Invalid entries are dropped and reported.
    pub fn parse(entries: &[Value]) -> (Self, Vec<RejectedSubscription>) {
        let (mut taken, mut rejected) = (Vec::<StreamSubscription>::new(), Vec::new());
        for entry in entries.iter().take(MAX_SUBSCRIPTIONS) {
            match StreamSubscription::parse(entry) {
                Ok(subscription) if taken.contains(&subscription) => {}
                Ok(subscription) => taken.push(subscription),
                Err(reason) => rejected.push(reason),
            }
        }
        if let Some(entry) = entries.get(MAX_SUBSCRIPTIONS) {
            let subscription = entry.as_str().map_or_else(|| json_excerpt(entry), text_excerpt);
            rejected.push(RejectedSubscription { subscription, reason: RejectReason::TooMany });
        }
        (Self(taken), rejected)
    }

    /// The subscriptions, in their original order.
    pub fn iter(&self) -> impl Iterator<Item = &StreamSubscription> {
        self.0.iter()
    }

    /// Whether there are no subscriptions.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes and returns the subscriptions that need an undeclared permission.
    pub fn drop_unpermitted(&mut self, declared: &PermissionSet) -> Vec<StreamSubscription> {
        self.0.extract_if(.., |subscription| !declared.allows_stream(subscription.kind())).collect()
    }

    /// The `streamType` of each message that the app receives for an event: none without the permission, else one for each
    /// matching subscription. The permission of the event itself is checked, so that `all` does not bypass it.
    pub fn stream_types_for<'a>(&'a self, event: &StreamEvent, declared: &PermissionSet) -> Vec<&'a str> {
        if !declared.allows_stream(event.kind()) {
            return Vec::new();
        }
        let mut types = Vec::new();
        for subscription in self.0.iter().filter(|subscription| subscription.matches(event)) {
            if !types.contains(&subscription.stream_type()) {
                types.push(subscription.stream_type());
            }
        }
        types
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::stream::{Permission, StreamKind};

    fn speech(language: &str) -> StreamEvent {
        StreamEvent::Transcription { language: language.to_owned() }
    }

    #[test]
    fn a_set_has_a_largest() {
        let many: Vec<Value> = (0..=MAX_SUBSCRIPTIONS).map(|n| json!(format!("touch_event:{n}"))).collect();
        let (set, rejected) = SubscriptionSet::parse(&many);
        assert_eq!((set.iter().count(), rejected.len()), (MAX_SUBSCRIPTIONS, 1));
        assert_eq!(rejected[0].reason, RejectReason::TooMany);
        assert_eq!(rejected[0].subscription, "touch_event:64");
        assert!(SubscriptionSet::parse(&many[..MAX_SUBSCRIPTIONS]).1.is_empty());
    }

    #[test]
    fn a_set_answers_with_each_of_the_apps_own_texts() {
        let list = [
            json!("transcription"),
            json!("transcription:en-US"),
            json!("transcription:auto"),
            json!("*"),
            json!("*"),
        ];
        let (set, rejected) = SubscriptionSet::parse(&list);
        let microphone: PermissionSet = [Permission::Microphone].into_iter().collect();
        assert!(rejected.is_empty());
        assert_eq!(
            set.stream_types_for(&speech("en-US"), &microphone),
            ["transcription", "transcription:en-US", "transcription:auto", "*"]
        );
        assert_eq!(set.stream_types_for(&speech("de-DE"), &microphone), ["transcription:auto", "*"]);
    }

    #[test]
    fn the_all_stream_does_not_bypass_permissions() {
        let (mut set, _) = SubscriptionSet::parse(&[json!("*"), json!("VAD"), json!("button_press")]);
        let none = PermissionSet::default();
        let dropped = set.drop_unpermitted(&none);
        assert_eq!(dropped.iter().map(StreamSubscription::as_str).collect::<Vec<_>>(), ["VAD"]);
        assert!(set.stream_types_for(&speech("en-US"), &none).is_empty());
        assert_eq!(
            set.stream_types_for(&StreamEvent::Plain(StreamKind::ButtonPress), &none),
            ["*", "button_press"]
        );
    }
}
