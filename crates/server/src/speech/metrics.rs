//! Metrics of speech. They contain neither text nor users.

use metrics::Counter;
use metrics_exporter_prometheus::PrometheusRecorder;

use crate::telemetry::{SPEECH, TRANSCRIPTS};

/// Counters of speech requests and transcripts, registered once.
pub(crate) struct SpeechMetrics {
    /// Speech requests that were synthesized.
    pub(super) synthesized: Counter,
    /// Speech requests that were answered from the cache.
    pub(super) cached: Counter,
    /// Speech requests that failed.
    pub(super) synthesis_failed: Counter,
    /// Utterances that were transcribed.
    pub(super) transcribed: Counter,
    /// Utterances without any words.
    pub(super) empty: Counter,
    /// Utterances for which the transcriber failed.
    pub(super) transcription_failed: Counter,
    dropped: Counter,
}

impl SpeechMetrics {
    /// Registers the counters.
    pub(crate) fn new(recorder: &PrometheusRecorder) -> Self {
        Self {
            synthesized: SPEECH.counter_for(recorder, "made"),
            cached: SPEECH.counter_for(recorder, "cached"),
            synthesis_failed: SPEECH.counter_for(recorder, "failed"),
            transcribed: TRANSCRIPTS.counter_for(recorder, "made"),
            empty: TRANSCRIPTS.counter_for(recorder, "empty"),
            transcription_failed: TRANSCRIPTS.counter_for(recorder, "failed"),
            dropped: TRANSCRIPTS.counter_for(recorder, "dropped"),
        }
    }

    /// Sets the value that is read when metrics are scraped.
    pub(crate) fn set_dropped(&self, dropped: u64) {
        self.dropped.absolute(dropped);
    }
}
