//! Exports traces by OTLP: one span for each call and one for each of its steps.
//!
//! Spans are built from the finished record, so they cost a call nothing, and only if an endpoint is configured.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use opentelemetry::{
    InstrumentationScope, KeyValue, SpanId, TraceFlags, TraceId,
    trace::{SpanContext, SpanKind, Status, TraceState},
};
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::{
    Resource,
    trace::{SpanData, SpanEvents, SpanExporter as _, SpanLinks},
};
use tokio::sync::broadcast;
use toolyard_core::ports::{CallRecord, IdGenerator};

use crate::lifecycle::Lifecycle;

/// Spans in one message.
const BATCH: usize = 512;
/// How long spans wait for a full batch.
const DELAY: Duration = Duration::from_secs(1);

/// The endpoint cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("telemetry.otlp_url: {0}")]
pub struct TraceError(String);

/// Exports traces to an OTLP endpoint.
pub struct TraceExporter {
    exporter: SpanExporter,
    scope: InstrumentationScope,
    ids: Arc<dyn IdGenerator>,
}

impl TraceExporter {
    /// An exporter for this endpoint.
    pub fn new(url: &str, ids: Arc<dyn IdGenerator>) -> Result<Self, TraceError> {
        let exporter =
            SpanExporter::builder().with_http().with_endpoint(url).with_timeout(Duration::from_secs(5));
        let mut exporter = exporter.build().map_err(|error| TraceError(error.to_string()))?;
        exporter.set_resource(&Resource::builder().with_service_name("toolyard").build());
        Ok(Self { exporter, scope: InstrumentationScope::builder("toolyard").build(), ids })
    }

    /// Exports the spans of every call, until the server stops and its last call has ended.
    pub fn export_calls(self, mut calls: broadcast::Receiver<Arc<CallRecord>>, lifecycle: &Lifecycle) {
        let under_way = lifecycle.calls.clone();
        lifecycle.spawn(async move {
            let (mut spans, mut ticks) = (Vec::new(), tokio::time::interval(DELAY));
            loop {
                let stop = tokio::select! {
                    biased;
                    ended = calls.recv() => match ended {
                        Ok(call) => {
                            spans.extend(self.call_spans(&call));
                            if spans.len() < BATCH {
                                continue;
                            }
                            false
                        }
                        Err(broadcast::error::RecvError::Lagged(missed)) => {
                            tracing::warn!(missed, "trace exporter lagged behind; traces of some calls are lost");
                            continue;
                        }
                        Err(broadcast::error::RecvError::Closed) => true,
                    },
                    _ = ticks.tick() => false,
                    // `biased`: the records of all calls are received before this branch.
                    () = under_way.wait() => true,
                };
                if !spans.is_empty()
                    && let Err(error) = self.exporter.export(std::mem::take(&mut spans)).await
                {
                    tracing::warn!(%error, "failed to export traces");
                }
                if stop {
                    return;
                }
            }
        });
    }

    fn call_spans(&self, call: &CallRecord) -> Vec<SpanData> {
        let start = SystemTime::from(call.started_at);
        let whole = self.build_span(
            call,
            call.trace.span_id,
            call.trace.parent.unwrap_or(0),
            call.tool.to_string(),
            start,
            call.duration_us,
        );
        let steps = &call.steps;
        let steps = [
            ("find", steps.find),
            ("validate", steps.validate),
            ("authorize", steps.authorize),
            ("make ready", steps.ready),
            ("invoke", steps.invoke),
            ("check output", steps.check),
        ];
        let mut spans = vec![whole];
        let mut at = start;
        for (name, us) in steps {
            spans.push(self.build_span(
                call,
                self.ids.random_number(),
                call.trace.span_id,
                name.to_owned(),
                at,
                us,
            ));
            at += Duration::from_micros(us);
        }
        spans
    }

    fn build_span(
        &self,
        call: &CallRecord,
        id: u64,
        parent: u64,
        name: String,
        start: SystemTime,
        us: u64,
    ) -> SpanData {
        let is_call = id == call.trace.span_id;
        let context = SpanContext::new(
            TraceId::from_bytes(call.trace.trace_id.to_be_bytes()),
            SpanId::from_bytes(id.to_be_bytes()),
            TraceFlags::SAMPLED,
            false,
            TraceState::default(),
        );
        let attributes = if is_call {
            vec![
                KeyValue::new("toolyard.call.id", call.id.to_string()),
                KeyValue::new("toolyard.door", call.door.as_str()),
                KeyValue::new("toolyard.outcome", call.outcome_text()),
            ]
        } else {
            Vec::new()
        };
        SpanData {
            span_context: context,
            parent_span_id: SpanId::from_bytes(parent.to_be_bytes()),
            parent_span_is_remote: is_call,
            span_kind: if is_call { SpanKind::Server } else { SpanKind::Internal },
            name: name.into(),
            start_time: start,
            end_time: start + Duration::from_micros(us),
            attributes,
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: match call.error.filter(|_| is_call) {
                Some(code) => Status::error(code.as_str()),
                None => Status::Unset,
            },
            instrumentation_scope: self.scope.clone(),
        }
    }
}
