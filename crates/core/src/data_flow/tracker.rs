//! What conversations have read, and what calls under way are about to bring in.

use std::sync::Arc;

use dashmap::DashMap;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use serde_json::Value;
use toolyard_protocol::{
    ErrorCode, UserId,
    approval::{DataFlowPolicy, DataLabel},
    text::truncate_chars,
};

use super::{LabelSet, LabelSettings, LeakRisk, ToolLabels};
use crate::{
    Tool,
    bounded_cache::BoundedCache,
    executor::{CallContext, CallOutcome, CallReply},
    ports::{Clock, LabelStore, StoreError, StoredLabels},
};

/// Conversations of one user whose labels are stored. Beyond that, those that expire first are forgotten.
pub const MAX_LABELLED_CONVERSATIONS: u32 = 1_000;
/// Conversations whose labels are in memory. More are read from the store again.
const CACHED_CONVERSATIONS: usize = 20_000;
/// How long a named conversation or an MCP session keeps its labels after its last labelled result.
const CONVERSATION_LIFETIME: SignedDuration = SignedDuration::from_hours(30 * 24);
/// The same for calls that name no conversation: everything that one credential does counts together.
const SESSION_LIFETIME: SignedDuration = SignedDuration::from_hours(1);
/// Names that are kept for each label, to explain a question.
const MAX_NAMES: usize = 3;
/// Values at destinations that are searched in what the user wrote. A call with more asks.
const MAX_VALUES: usize = 100;
/// Longest name, in characters. A client's own tool can have any name.
const MAX_NAME_CHARS: usize = 128;

/// Whose labels count together: a conversation of a user, or a session if no conversation is named.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ConversationKey {
    user: UserId,
    id: Arc<str>,
    is_named: bool,
}

impl ConversationKey {
    /// The key of a conversation, or of the session if none is named. None if there is neither.
    pub fn new(user: &UserId, conversation: Option<&Arc<str>>, session: Option<&Arc<str>>) -> Option<Self> {
        let id = conversation.or(session)?;
        Some(Self { user: user.clone(), id: id.clone(), is_named: conversation.is_some() })
    }

    fn of_call(cx: &CallContext) -> Option<Self> {
        Self::new(&cx.user, cx.conversation.as_ref(), cx.session.as_ref())
    }

    fn lifetime(&self) -> SignedDuration {
        if self.is_named { CONVERSATION_LIFETIME } else { SESSION_LIFETIME }
    }
}

/// Something that a conversation has read: its name, and its labels.
#[derive(Debug, Clone)]
pub struct ReadItem {
    /// The tool.
    pub name: String,
    /// What its result is.
    pub labels: LabelSet,
}

type CachedLabels = Arc<Mutex<StoredLabels>>;
type InFlightTable = Arc<DashMap<ConversationKey, Vec<(u64, ReadItem)>>>;

/// Remembers what conversations have read, and finds calls that would complete the three labels.
pub struct DataFlowTracker {
    settings: LabelSettings,
    store: Arc<dyn LabelStore>,
    clock: Arc<dyn Clock>,
    cached: BoundedCache<ConversationKey, CachedLabels>,
    /// Results that may arrive at any moment. Bounded by the calls in flight.
    in_flight: InFlightTable,
    next: std::sync::atomic::AtomicU64,
}

/// Held while a call is under way whose result will have labels.
pub(crate) struct InFlightLabels {
    key: ConversationKey,
    number: u64,
    table: InFlightTable,
}

impl Drop for InFlightLabels {
    fn drop(&mut self) {
        if let Some(mut items) = self.table.get_mut(&self.key) {
            items.retain(|(number, _)| *number != self.number);
        }
        self.table.remove_if(&self.key, |_, items| items.is_empty());
    }
}

impl DataFlowTracker {
    pub(crate) fn new(settings: LabelSettings, store: Arc<dyn LabelStore>, clock: Arc<dyn Clock>) -> Self {
        Self {
            settings,
            store,
            clock,
            cached: BoundedCache::new(CACHED_CONVERSATIONS),
            in_flight: Arc::default(),
            next: std::sync::atomic::AtomicU64::new(0),
        }
    }

    /// What happens when all three labels come together.
    pub fn policy(&self) -> DataFlowPolicy {
        self.settings.policy
    }

    /// The labels of a tool, computed on first use.
    pub fn tool_labels<'t>(&self, tool: &'t Tool) -> &'t ToolLabels {
        tool.data_labels(|tool| self.settings.labels_for(tool))
    }

    /// Whether the call would complete the three labels. `is_strict`: what MCP implies counts too.
    pub(crate) async fn find_leak(
        &self,
        cx: &CallContext,
        tool: &Tool,
        arguments: &Value,
        is_strict: bool,
    ) -> Result<Option<LeakRisk>, StoreError> {
        if self.policy() == DataFlowPolicy::Off {
            return Ok(None);
        }
        let labels = self.tool_labels(tool);
        if !(labels.labels.contains(DataLabel::Outward) || is_strict && labels.implied_outward) {
            return Ok(None);
        }
        let Some(key) = ConversationKey::of_call(cx) else { return Ok(None) };
        let read = self.read_so_far(&key).await?;
        let has_private = !read.private.is_empty() || labels.carries_private;
        // The call's own result cannot have influenced its arguments, so only earlier content counts.
        if !has_private
            || read.untrusted.is_empty()
            || names_only_users_destinations(labels, arguments, cx.user_text.as_deref())
        {
            return Ok(None);
        }
        let (private, untrusted) = (read.private, read.untrusted);
        Ok(Some(LeakRisk { tool: tool.name.clone(), private, untrusted }))
    }

    /// Notes that a labelled result may arrive from now on. Its progress messages arrive before it does.
    pub(crate) fn begin_call(&self, cx: &CallContext, tool: &Tool) -> Option<InFlightLabels> {
        let labels = self.tool_labels(tool).labels;
        if self.policy() == DataFlowPolicy::Off || !labels.is_read() {
            return None;
        }
        let key = ConversationKey::of_call(cx)?;
        let number = self.next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let item = ReadItem { name: tool.name.as_str().to_owned(), labels };
        self.in_flight.entry(key.clone()).or_default().push((number, item));
        Some(InFlightLabels { key, number, table: self.in_flight.clone() })
    }

    /// Notes what a call has returned to its caller.
    pub(crate) async fn record_outcome(&self, cx: &CallContext, tool: &Tool, outcome: &CallOutcome) {
        let labels = self.tool_labels(tool).labels;
        if self.policy() != DataFlowPolicy::Off && labels.is_read() && has_content(cx, outcome) {
            self.record_read(cx, tool.name.as_str(), labels).await;
        }
    }

    /// Notes the contents of a prompt or a resource.
    pub(crate) async fn record_forwarded(&self, cx: &CallContext, name: &str) {
        if self.policy() == DataFlowPolicy::Off {
            return;
        }
        let by_operator = self.settings.operator_labels(&name.to_ascii_lowercase());
        self.record_read(cx, name, by_operator.unwrap_or(LabelSet::UNKNOWN_READ)).await;
    }

    async fn record_read(&self, cx: &CallContext, name: &str, labels: LabelSet) {
        let Some(key) = ConversationKey::of_call(cx) else { return };
        let item = ReadItem { name: name.to_owned(), labels };
        if let Err(error) = self.record_items(&key, &[item]).await {
            // If they were read before, they are in memory all the same, and are lost only if the server stops.
            tracing::error!(%error, "labels of a conversation not stored");
        }
    }

    /// Notes what a conversation has read, such as the calls in a chat's history.
    pub async fn record_items(&self, key: &ConversationKey, items: &[ReadItem]) -> Result<(), StoreError> {
        if self.policy() == DataFlowPolicy::Off || !items.iter().any(|item| item.labels.is_read()) {
            return Ok(());
        }
        let now = self.clock.now();
        let mut cached = self.load(key).await?;
        loop {
            let changed = add_items(&mut cached.lock(), items, now, key.lifetime());
            let Some(labels) = changed else { return Ok(()) };
            let (user, id) = (&key.user, &*key.id);
            self.store.set_conversation_labels(user, id, &labels, MAX_LABELLED_CONVERSATIONS).await?;
            // If it was evicted and read again meanwhile, that copy may be from before this write.
            match self.cached.get(key) {
                Some(current) if !Arc::ptr_eq(&current, &cached) => cached = current,
                _ => return Ok(()),
            }
        }
    }

    /// What the conversation has read, calls under way included.
    async fn read_so_far(&self, key: &ConversationKey) -> Result<StoredLabels, StoreError> {
        let cached = self.load(key).await?;
        let mut read = cached.lock().clone();
        if read.until <= self.clock.now() {
            read.private.clear();
            read.untrusted.clear();
        }
        if let Some(items) = self.in_flight.get(key) {
            items.iter().for_each(|(_, item)| {
                add_item(&mut read, item);
            });
        }
        Ok(read)
    }

    async fn load(&self, key: &ConversationKey) -> Result<CachedLabels, StoreError> {
        if let Some(cached) = self.cached.get(key) {
            return Ok(cached);
        }
        let stored = self.store.conversation_labels(&key.user, &key.id).await?;
        let none = || StoredLabels { private: Vec::new(), untrusted: Vec::new(), until: Timestamp::MIN };
        let labels = stored.unwrap_or_else(none);
        Ok(self.cached.get_or_insert_with(key.clone(), || Arc::new(Mutex::new(labels))))
    }
}

/// Adds items, and returns the labels if they have to be stored.
fn add_items(
    labels: &mut StoredLabels,
    items: &[ReadItem],
    now: Timestamp,
    lifetime: SignedDuration,
) -> Option<StoredLabels> {
    if labels.until <= now {
        labels.private.clear();
        labels.untrusted.clear();
    }
    let mut is_new = false;
    for item in items {
        is_new |= add_item(labels, item);
    }
    let until = now.checked_add(lifetime).unwrap_or(Timestamp::MAX);
    // A later end alone is stored now and then, not for each call.
    let is_due = until.duration_since(labels.until) > lifetime / 8;
    if is_new || is_due {
        labels.until = labels.until.max(until);
        return Some(labels.clone());
    }
    None
}

/// Adds the name under its labels. False if nothing changed.
fn add_item(labels: &mut StoredLabels, item: &ReadItem) -> bool {
    let mut is_new = false;
    for (label, names) in
        [(DataLabel::Private, &mut labels.private), (DataLabel::Untrusted, &mut labels.untrusted)]
    {
        if !item.labels.contains(label) || names.len() >= MAX_NAMES {
            continue;
        }
        let name = truncate_chars(&item.name, MAX_NAME_CHARS);
        if !names.iter().any(|known| *known == name) {
            names.push(name.into_owned());
            is_new = true;
        }
    }
    is_new
}

/// Whether the caller got something that the tool wrote. A call that did not reach its tool, or got no answer, brings
/// nothing in.
fn has_content(cx: &CallContext, outcome: &CallOutcome) -> bool {
    match outcome {
        Ok(CallReply::Done(_) | CallReply::AwaitingInput(_)) => true,
        Ok(CallReply::AwaitingApproval(_) | CallReply::AwaitingSignIn(_)) => false,
        Err(error) if quotes_app(error.code) => true,
        // Its progress messages may have arrived.
        Err(error) => {
            let may_have_run = matches!(
                error.code,
                ErrorCode::Timeout
                    | ErrorCode::Cancelled
                    | ErrorCode::NetworkError
                    | ErrorCode::OutcomeUnknown
            );
            may_have_run && cx.notices.is_connected()
        }
    }
}

/// Whether the text of such an error has what the app said.
pub(crate) const fn quotes_app(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::ExecutionError
            | ErrorCode::HandlerError
            | ErrorCode::HttpError
            | ErrorCode::InvalidResponse
            | ErrorCode::ToolNotHandled
    )
}

/// Whether the call sends only to destinations that the user's own messages name. Without such arguments, or without
/// messages, it does not.
fn names_only_users_destinations(labels: &ToolLabels, arguments: &Value, user_text: Option<&str>) -> bool {
    let Some(text) = user_text else { return false };
    let mut values = Vec::new();
    for pointer in &labels.destinations {
        if !collect_texts(arguments.pointer(pointer), &mut values) {
            return false;
        }
    }
    values.sort_unstable();
    values.dedup();
    !values.is_empty()
        && values.len() <= MAX_VALUES
        && values.iter().all(|value| contains_word(text, &value.to_lowercase()))
}

/// Collects the texts at a destination. False if there is something else than texts.
fn collect_texts<'a>(value: Option<&'a Value>, texts: &mut Vec<&'a str>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => {
            if !text.is_empty() {
                texts.push(text);
            }
            true
        }
        Some(Value::Array(items)) => items.iter().all(|item| collect_texts(Some(item), texts)),
        Some(Value::Bool(_) | Value::Number(_) | Value::Object(_)) => false,
    }
}

/// Whether the text has the word, not only as a part of a longer one. Both in lower case.
fn contains_word(text: &str, word: &str) -> bool {
    let joins = |c: char| c.is_alphanumeric() || c == '_' || c == '-' || c == '@';
    text.match_indices(word).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        // `bob+news@example.com` does not name `news@example.com`.
        let goes_on_before = before.chars().next_back().is_some_and(|c| joins(c) || ".+%=&/!#~".contains(c));
        // `example.com` is not named by `example.com.evil`; a full stop ends a sentence.
        let goes_on_after = after.strip_prefix('.').unwrap_or(after).chars().next().is_some_and(joins);
        !goes_on_before && !goes_on_after
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn item(name: &str, labels: LabelSet) -> ReadItem {
        ReadItem { name: name.to_owned(), labels }
    }

    #[test]
    fn names_are_bounded_and_stored_once() {
        let mut labels = StoredLabels { private: Vec::new(), untrusted: Vec::new(), until: Timestamp::MIN };
        let hour = SignedDuration::from_hours(1);
        let read = LabelSet::EMPTY.with(DataLabel::Private);
        assert!(add_items(&mut labels, &[item("a", read)], at(0), hour).is_some());
        assert_eq!(add_items(&mut labels, &[item("a", read)], at(10), hour), None, "known");
        assert!(add_items(&mut labels, &[item("a", read)], at(1_000), hour).is_some(), "lives longer");
        for name in ["b", "c", "d", "e"] {
            add_items(&mut labels, &[item(name, read)], at(1_000), hour);
        }
        assert_eq!(labels.private, ["a", "b", "c"]);
        add_items(&mut labels, &[item("late", read)], at(4_600), hour);
        assert_eq!(labels.private, ["late"], "the others have expired");
    }

    #[test]
    fn a_session_is_no_conversation_of_the_same_name() {
        let user: UserId = "ada".parse().unwrap();
        let (id, session) = ("chat:user:abc".into(), "s".into());
        let named = ConversationKey::new(&user, Some(&id), Some(&session));
        assert_eq!(named, ConversationKey::new(&user, Some(&id), None));
        assert_ne!(named, ConversationKey::new(&user, None, Some(&id)));
        assert_eq!(ConversationKey::new(&user, None, None), None);
    }

    #[test]
    fn destinations_count_only_if_the_user_named_all_of_them() {
        let labels =
            ToolLabels { destinations: vec!["/to".to_owned(), "/cc".to_owned()], ..ToolLabels::default() };
        let text = Some("send it to bob@example.com. and carol@example.com");
        for (arguments, expected) in [
            (json!({ "to": "bob@example.com" }), true),
            (json!({ "to": ["Bob@Example.com", "carol@example.com"], "cc": null }), true),
            (json!({ "to": "bob@example.com", "cc": ["mal@evil.com"] }), false),
            (json!({ "to": "ob@example.com" }), false),
            (json!({ "to": "bob@example" }), false),
            (json!({ "to": { "bob@example.com": 1 } }), false),
            (json!({ "body": "x" }), false),
        ] {
            assert_eq!(names_only_users_destinations(&labels, &arguments, text), expected, "{arguments}");
        }
        assert!(!names_only_users_destinations(&labels, &json!({ "to": "bob@example.com" }), None));
        assert!(!names_only_users_destinations(
            &ToolLabels::default(),
            &json!({ "to": "bob@example.com" }),
            text
        ));
    }
}
