//! Anthropic and Gemini in their own protocols, through `genai`. Its types stay in this folder.
//!
//! Limits of `genai` 0.7.2: Gemini's calls arrive as values, so their numbers may be written differently, while
//! Anthropic's keep their text. Its buffers are not bounded, so its output is counted here.

mod request;
mod response;

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
use toolyard_core::ports::IdGenerator;
use toolyard_protocol::chat::sampling::SamplingOption;

use super::{
    Model, ModelError, ModelErrorKind, ModelInfo, ModelRequest, ModelStream, RequestPolicy,
    errors::ModelTarget,
    limits::{FitCache, VendorFamily},
    retry,
};
use response::VendorResponse;

/// A vendor with a protocol of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VendorKind {
    Anthropic,
    Gemini,
}

impl VendorKind {
    pub(super) const fn family(self) -> VendorFamily {
        match self {
            Self::Anthropic => VendorFamily::Anthropic,
            Self::Gemini => VendorFamily::Gemini,
        }
    }

    const fn adapter_kind(self) -> AdapterKind {
        match self {
            Self::Anthropic => AdapterKind::Anthropic,
            Self::Gemini => AdapterKind::Gemini,
        }
    }
}

/// A model of such a vendor.
pub(super) struct VendorModel {
    pub(super) info: ModelInfo,
    /// The vendor's name for it.
    pub(super) model: String,
    pub(super) kind: VendorKind,
    pub(super) fits: Arc<FitCache>,
    pub(super) target: ModelTarget,
    pub(super) client: Client,
    pub(super) bounds: RequestPolicy,
    pub(super) ids: Arc<dyn IdGenerator>,
}

impl std::fmt::Debug for VendorModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VendorModel")
            .field("info", &self.info)
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Model for VendorModel {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn supports(&self, option: SamplingOption) -> bool {
        match option {
            SamplingOption::TopP
            | SamplingOption::Stop
            | SamplingOption::ReasoningEffort
            | SamplingOption::JsonSchema => true,
            SamplingOption::Seed => self.kind == VendorKind::Gemini,
            // Neither vendor has the first, and `genai` does not send the others.
            SamplingOption::JsonObject
            | SamplingOption::FrequencyPenalty
            | SamplingOption::PresencePenalty => false,
        }
    }

    async fn ask(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let (request, options) =
            request::chat_request(&self.info.id, &self.model, self.kind, &self.fits, &request);
        let options = options
            .with_stream_header_timeout(self.bounds.first_byte)
            .with_stream_read_timeout(self.bounds.idle);
        retry::ask_with_retry(&self.bounds, &*self.ids, || self.send_request(request.clone(), &options)).await
    }
}

impl VendorModel {
    async fn send_request(
        &self,
        request: ChatRequest,
        options: &ChatOptions,
    ) -> Result<ModelStream, ModelError> {
        let key = self.target.key.as_ref().map(|key| key.expose()).unwrap_or_default();
        let service = ServiceTarget {
            endpoint: Endpoint::from_owned(self.target.url.as_str()),
            auth: AuthData::from_single(key),
            model: ModelIden::new(self.kind.adapter_kind(), self.model.as_str()),
        };
        let came = self.client.exec_chat_stream(service, request, Some(options)).await;
        let came = came.map_err(|error| convert_error(&self.target, &self.bounds, &error))?;
        let answer =
            VendorResponse::new(self.info.id.clone(), self.kind, self.target.clone(), self.ids.clone());
        let (target, bounds) = (self.target.clone(), self.bounds.clone());
        let events = stream::unfold(Some((came.stream, answer)), move |state| {
            let (target, bounds) = (target.clone(), bounds.clone());
            async move {
                let (mut events, mut answer) = state?;
                let (out, more) = match events.next().await {
                    Some(Ok(event)) => answer.take_event(event),
                    Some(Err(error)) => (vec![Err(convert_error(&target, &bounds, &error))], false),
                    None => (vec![Err(target.broken_error("the response has no end"))], false),
                };
                // Dropped at the end, which closes the connection.
                Some((stream::iter(out), more.then_some((events, answer))))
            }
        });
        Ok(events.flatten().boxed())
    }
}

/// Converts an error of `genai`.
fn convert_error(target: &ModelTarget, bounds: &RequestPolicy, error: &genai::Error) -> ModelError {
    match error {
        genai::Error::HttpError { status, headers, body, .. } => target.status_error(*status, headers, body),
        genai::Error::WebStream { error, .. } => {
            if let Some(error) = error.downcast_ref::<genai::Error>() {
                convert_error(target, bounds, error)
            } else if let Some(error) = error.downcast_ref::<reqwest::Error>() {
                target.transport_error(error)
            } else {
                match error.downcast_ref::<StreamTimeout>() {
                    Some(StreamTimeout::Headers) => target.timeout_error(bounds.first_byte),
                    Some(StreamTimeout::Read) => target.idle_error(bounds.idle),
                    None => target.broken_error(&error.to_string()),
                }
            }
        }
        genai::Error::WebModelCall { webc_error, .. } | genai::Error::WebAdapterCall { webc_error, .. } => {
            match webc_error {
                webc::Error::ResponseFailedStatus { status, body, headers } => {
                    target.status_error(*status, headers, body)
                }
                webc::Error::Reqwest(error) => target.transport_error(error),
                other => target.broken_error(&other.to_string()),
            }
        }
        genai::Error::ChatResponse { body, .. } => match body.get("error") {
            Some(error) => target.stream_error(error),
            // Gemini returns nothing if it withholds the whole response.
            None if body.get("finishReason").is_some() => {
                let text = format!("{} withheld its response; rephrase the request.", target.id);
                target.new_error(ModelErrorKind::Refused, text, Some(&body.to_string()))
            }
            None => target.stream_error(body),
        },
        genai::Error::StreamParse { .. } | genai::Error::JsonValueExt(_) | genai::Error::SerdeJson(_) => {
            target.broken_error(&error.to_string())
        }
        other => {
            let text = format!("{} does not support this request.", target.id);
            target.new_error(ModelErrorKind::Refused, text, Some(&other.to_string()))
        }
    }
}
