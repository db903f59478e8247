//! The secrets of one call: put back into its arguments, replaced in everything that it sends.

use std::{
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use parking_lot::Mutex;
use serde_json::value::RawValue;
use toolyard_protocol::{ErrorCode, ToolName, call::CallProgress, mcp::method};
use toolyard_redaction::{
    KnownSecrets, MAX_RESTORED_BYTES, Redactor, RestoreOutcome, may_have_placeholder, redact_json,
    redact_text,
};

use super::{SecretOrigin, SecretRedaction, SecretScope};
use crate::{
    error::ToolError,
    executor::CallOutcome,
    ports::{CallNotice, SourceQuestion},
    schema::pool::{PoolError, WorkOwner, WorkPool},
};

/// Longer texts are searched on the pool.
const INLINE_BYTES: usize = 64 * 1024;
/// A longer notice is dropped, because a source does not wait for its search. So is a longer question.
pub const MAX_NOTICE_BYTES: usize = 256 * 1024;

/// What was done about the secrets of one call.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CallSecretCounts {
    /// Secrets that were replaced.
    pub(crate) replaced: usize,
    /// Placeholders that were replaced by their secrets.
    pub(crate) restored: usize,
}

/// What is done about the secrets of one call.
pub struct CallRedaction {
    shared: Arc<SecretRedaction>,
    scope: SecretScope,
    origin: SecretOrigin,
    name: ToolName,
    /// Whether the caller gets placeholders. Otherwise only what is stored has them.
    pub(super) for_model: bool,
    /// The secrets that the call received. Its result may repeat them, whatever their format.
    received: OnceLock<KnownSecrets>,
    replaced: AtomicUsize,
    restored: AtomicUsize,
}

impl fmt::Debug for CallRedaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallRedaction").field("name", &self.name).finish_non_exhaustive()
    }
}

impl CallRedaction {
    pub(super) fn new(
        shared: Arc<SecretRedaction>,
        scope: SecretScope,
        origin: SecretOrigin,
        name: ToolName,
        for_model: bool,
    ) -> Self {
        Self {
            shared,
            scope,
            origin,
            name,
            for_model,
            received: OnceLock::new(),
            replaced: AtomicUsize::new(0),
            restored: AtomicUsize::new(0),
        }
    }

    pub(super) fn name(&self) -> &ToolName {
        &self.name
    }

    /// A result with the secrets behind its placeholders.
    pub(super) fn reveal(&self, outcome: CallOutcome) -> CallOutcome {
        self.shared.reveal(&self.scope, outcome)
    }

    /// What was done in this call so far.
    pub(crate) fn counts(&self) -> CallSecretCounts {
        CallSecretCounts {
            replaced: self.replaced.load(Ordering::Relaxed),
            restored: self.restored.load(Ordering::Relaxed),
        }
    }

    /// The arguments with their secrets. None if they have no placeholders of this tool's origin.
    pub(crate) async fn restore_arguments(
        self: &Arc<Self>,
        arguments: Option<&RawValue>,
    ) -> Result<Option<Box<RawValue>>, ToolError> {
        let Some(arguments) = arguments.filter(|raw| may_have_placeholder(raw.get())) else {
            return Ok(None);
        };
        if arguments.get().len() <= INLINE_BYTES {
            return self.restore_now(arguments);
        }
        let (this, arguments) = (self.clone(), arguments.to_owned());
        let restored = self.run_on_pool(move || this.restore_now(&arguments)).await;
        restored.unwrap_or_else(|error| {
            let text = format!(
                "The placeholders in the arguments could not be read: {error}. {} did not run.",
                self.name
            );
            Err(ToolError::new(ErrorCode::Overloaded, text))
        })
    }

    fn restore_now(&self, arguments: &RawValue) -> Result<Option<Box<RawValue>>, ToolError> {
        // A conversation without secrets knows no placeholder either, which is an answer as well.
        let secrets = self.shared.find_secrets(&self.scope);
        let secrets = secrets.unwrap_or_else(|| Arc::new(Mutex::new(Redactor::new([0; 32]))));
        let secrets = secrets.lock();
        // No origin has an empty name, so nothing is restored.
        let origin = if self.origin.is_restored { &*self.origin.name } else { "" };
        let restored = secrets.restore_json(origin, arguments.get());
        self.count_placeholders(&restored.outcome);
        self.check_placeholders(&restored.outcome)?;
        if restored.outcome.restored == 0 {
            return Ok(None);
        }
        let _ = self.received.set(KnownSecrets::new(&restored.secrets));
        let raw = RawValue::from_string(restored.text.into_owned());
        raw.map(Some).map_err(|error| {
            let text = format!("{} did not run: its arguments are not JSON.", self.name);
            ToolError::new(ErrorCode::InvalidArguments, text).with_cause(error)
        })
    }

    fn count_placeholders(&self, outcome: &RestoreOutcome) {
        let add = |counter: &std::sync::atomic::AtomicU64, count: usize| {
            counter.fetch_add(count as u64, Ordering::Relaxed);
        };
        add(&self.shared.foreign, outcome.foreign);
        add(&self.shared.unknown, outcome.unknown);
        if outcome.unknown == 0 && outcome.too_long == 0 {
            add(&self.shared.restored, outcome.restored);
            self.restored.fetch_add(outcome.restored, Ordering::Relaxed);
        }
    }

    /// A placeholder that stands for nothing never reaches a tool: it would be taken for the secret.
    fn check_placeholders(&self, outcome: &RestoreOutcome) -> Result<(), ToolError> {
        let text = match &outcome.first_unknown {
            Some(placeholder) => format!(
                "{} did not run: the secret behind {placeholder} is no longer available in this conversation. Call the tool \
                 that returned it again, and use the placeholder of its new result.",
                self.name
            ),
            None if outcome.too_long > 0 => format!(
                "{} did not run: its placeholders stand for more than {MAX_RESTORED_BYTES} bytes of secrets. Use fewer in \
                 one call.",
                self.name
            ),
            None => return Ok(()),
        };
        Err(ToolError::new(ErrorCode::InvalidArguments, text))
    }

    /// A notice without its secrets. None if it is too long to be searched now.
    pub(crate) fn redact_notice(&self, notice: CallNotice) -> Option<CallNotice> {
        if !self.for_model {
            return Some(notice);
        }
        match notice {
            CallNotice::Progress(CallProgress { progress, total, message: Some(message) }) => {
                let message = (message.len() <= MAX_NOTICE_BYTES).then(|| self.redact_text(message))?;
                Some(CallNotice::Progress(CallProgress { progress, total, message: Some(message) }))
            }
            CallNotice::Log(line) if line.get().len() > MAX_NOTICE_BYTES => None,
            CallNotice::Log(line) => {
                let redacted = self.redact_raw(&line).ok()?;
                Some(CallNotice::Log(redacted.unwrap_or(line)))
            }
            CallNotice::Progress(CallProgress { message: None, .. }) | CallNotice::SignIn(_) => Some(notice),
        }
    }

    /// A question without its secrets, if a model answers it. People need to see what a tool asks them, such as the link to
    /// a page where they sign in.
    pub(crate) fn redact_question(&self, mut question: SourceQuestion) -> Option<SourceQuestion> {
        if !self.for_model || question.method != method::SAMPLE {
            return Some(question);
        }
        if let Some(params) = question.params.as_deref() {
            let redacted = (params.get().len() <= MAX_NOTICE_BYTES).then(|| self.redact_raw(params))?;
            if let Some(redacted) = redacted.ok()? {
                question.params = Some(redacted);
            }
        }
        Some(question)
    }

    /// JSON without its secrets; on the pool if it is long. None if it has none.
    pub(super) async fn redact_json(
        self: &Arc<Self>,
        raw: &RawValue,
    ) -> Result<Option<Box<RawValue>>, PoolError> {
        if raw.get().len() <= INLINE_BYTES {
            return self.redact_raw(raw);
        }
        let (this, raw) = (self.clone(), raw.to_owned());
        Box::pin(self.run_on_pool(move || this.redact_raw(&raw))).await?
    }

    /// Fails if what is left is not JSON.
    fn redact_raw(&self, raw: &RawValue) -> Result<Option<Box<RawValue>>, PoolError> {
        let mut secrets = None;
        let redacted = redact_json(raw.get(), self.received(), |kind, secret| {
            self.placeholder(&mut secrets, kind, secret)
        });
        self.count_replaced(redacted.count);
        if redacted.count == 0 {
            return Ok(None);
        }
        RawValue::from_string(redacted.text.into_owned()).map(Some).map_err(|_| PoolError::Failed)
    }

    pub(super) fn redact_text(&self, text: String) -> String {
        let mut secrets = None;
        let redacted =
            redact_text(&text, self.received(), |kind, secret| self.placeholder(&mut secrets, kind, secret));
        self.count_replaced(redacted.count);
        if redacted.count == 0 { text } else { redacted.text.into_owned() }
    }

    /// The table is looked up at the first secret: most results have none.
    fn placeholder(&self, secrets: &mut Option<Arc<Mutex<Redactor>>>, kind: &str, secret: &str) -> String {
        let secrets = secrets.get_or_insert_with(|| self.shared.secrets_of(&self.scope));
        secrets.lock().placeholder(&self.origin.name, kind, secret)
    }

    fn received(&self) -> &KnownSecrets {
        self.received.get_or_init(KnownSecrets::default)
    }

    fn count_replaced(&self, count: usize) {
        if count > 0 {
            self.replaced.fetch_add(count, Ordering::Relaxed);
            self.shared.replaced.fetch_add(count as u64, Ordering::Relaxed);
        }
    }

    async fn run_on_pool<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PoolError> {
        WorkPool::global().run(&WorkOwner::for_package(self.name.package()), work).await
    }
}
