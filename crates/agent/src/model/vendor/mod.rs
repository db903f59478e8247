//! Anthropic and Gemini in their own protocols, through `genai`. Its types stay in this folder.
//!
//! What `genai` 0.7.2 leaves to us: Gemini's calls come as values, so their numbers may be spelled anew; Anthropic's keep
//! their text. Its buffers have no bound of their own; what comes out of them is counted here.

mod answer;
mod request;

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::{StreamExt as _, stream};
use genai::{
    Client, ModelIden, ServiceTarget,
    adapter::AdapterKind,
    chat::{ChatOptions, ChatRequest},
    resolver::{AuthData, Endpoint},
    webc::{self, StreamTimeout},
};
use toolyard_core::ports::Ids;
use toolyard_protocol::chat::sampling::SamplingOption;

use super::{
    Bounds, Model, ModelError, ModelInfo, ModelRequest, ModelStream, ModelTrouble,
    limits::{Family, Fits},
    retry,
    trouble::Whom,
};
use answer::Answer;

/// A vendor with a protocol of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Anthropic,
    Gemini,
}

impl Kind {
    pub(super) const fn family(self) -> Family {
        match self {
            Self::Anthropic => Family::Anthropic,
            Self::Gemini => Family::Gemini,
        }
    }

    const fn adapter(self) -> AdapterKind {
        match self {
            Self::Anthropic => AdapterKind::Anthropic,
            Self::Gemini => AdapterKind::Gemini,
        }
    }
}

/// A model of such a vendor.
pub(super) struct VendorModel {
    pub(super) info: ModelInfo,
    /// What the vendor calls it.
    pub(super) model: String,
    pub(super) kind: Kind,
    pub(super) fits: Arc<Fits>,
    pub(super) whom: Whom,
    pub(super) client: Client,
    pub(super) bounds: Bounds,
    pub(super) ids: Arc<dyn Ids>,
}

impl std::fmt::Debug for VendorModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VendorModel")
            .field("info", &self.info)
            .field("whom", &self.whom)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Model for VendorModel {
    fn about(&self) -> &ModelInfo {
        &self.info
    }

    fn supports(&self, option: SamplingOption) -> bool {
        match option {
            SamplingOption::TopP
            | SamplingOption::Stop
            | SamplingOption::ReasoningEffort
            | SamplingOption::JsonSchema => true,
            SamplingOption::Seed => self.kind == Kind::Gemini,
            // Neither has the first; `genai` does not send the others.
            SamplingOption::JsonObject
            | SamplingOption::FrequencyPenalty
            | SamplingOption::PresencePenalty => false,
        }
    }

    async fn ask(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let (request, options) =
            request::request(&self.info.id, &self.model, self.kind, &self.fits, &request);
        let options = options
            .with_stream_header_timeout(self.bounds.first_byte)
            .with_stream_read_timeout(self.bounds.idle);
        retry::ask(&self.bounds, &*self.ids, || self.attempt(request.clone(), &options)).await
    }
}

impl VendorModel {
    async fn attempt(&self, request: ChatRequest, options: &ChatOptions) -> Result<ModelStream, ModelError> {
        let key = self.whom.key.as_ref().map(|key| key.expose()).unwrap_or_default();
        let target = ServiceTarget {
            endpoint: Endpoint::from_owned(self.whom.url.as_str()),
            auth: AuthData::from_single(key),
            model: ModelIden::new(self.kind.adapter(), self.model.as_str()),
        };
        let came = self.client.exec_chat_stream(target, request, Some(options)).await;
        let came = came.map_err(|error| trouble(&self.whom, &self.bounds, &error))?;
        let answer = Answer::new(self.info.id.clone(), self.kind, self.whom.clone(), self.ids.clone());
        let (whom, bounds) = (self.whom.clone(), self.bounds.clone());
        let events = stream::unfold(Some((came.stream, answer)), move |state| {
            let (whom, bounds) = (whom.clone(), bounds.clone());
            async move {
                let (mut events, mut answer) = state?;
                let (out, more) = match events.next().await {
                    Some(Ok(event)) => answer.take(event),
                    Some(Err(error)) => (vec![Err(trouble(&whom, &bounds, &error))], false),
                    None => (vec![Err(whom.broken("the answer ended without an end"))], false),
                };
                // Dropped as soon as it ended: the connection goes with it.
                Some((stream::iter(out), more.then_some((events, answer))))
            }
        });
        Ok(events.flatten().boxed())
    }
}

/// What `genai` says went wrong, as ours.
fn trouble(whom: &Whom, bounds: &Bounds, error: &genai::Error) -> ModelError {
    match error {
        genai::Error::HttpError { status, headers, body, .. } => whom.status(*status, headers, body),
        genai::Error::WebStream { error, .. } => {
            if let Some(error) = error.downcast_ref::<genai::Error>() {
                trouble(whom, bounds, error)
            } else if let Some(error) = error.downcast_ref::<reqwest::Error>() {
                whom.transport(error)
            } else {
                match error.downcast_ref::<StreamTimeout>() {
                    Some(StreamTimeout::Headers) => whom.late(bounds.first_byte),
                    Some(StreamTimeout::Read) => whom.silent(bounds.idle),
                    None => whom.broken(&error.to_string()),
                }
            }
        }
        genai::Error::WebModelCall { webc_error, .. } | genai::Error::WebAdapterCall { webc_error, .. } => {
            match webc_error {
                webc::Error::ResponseFailedStatus { status, body, headers } => {
                    whom.status(*status, headers, body)
                }
                webc::Error::Reqwest(error) => whom.transport(error),
                other => whom.broken(&other.to_string()),
            }
        }
        genai::Error::ChatResponse { body, .. } => match body.get("error") {
            Some(error) => whom.in_answer(error),
            // Gemini says nothing at all where it holds the whole answer back.
            None if body.get("finishReason").is_some() => {
                let text = format!("{} holds its answer to this back; ask in other words.", whom.id);
                whom.error(ModelTrouble::Refused, text, Some(&body.to_string()))
            }
            None => whom.in_answer(body),
        },
        genai::Error::StreamParse { .. } | genai::Error::JsonValueExt(_) | genai::Error::SerdeJson(_) => {
            whom.broken(&error.to_string())
        }
        other => {
            let text = format!("{} cannot be asked this.", whom.id);
            whom.error(ModelTrouble::Refused, text, Some(&other.to_string()))
        }
    }
}
