//! Metrics of speech. They contain neither text nor users.

use metrics::{Counter, Key, KeyName, Label, Level, Metadata, Recorder as _};
use metrics_exporter_prometheus::PrometheusRecorder;

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
        const SPEECH: &str = "toolyard_speech_total";
        const TRANSCRIPTS: &str = "toolyard_transcripts_total";
        for (name, text) in [
            (SPEECH, "Speech requests, by outcome"),
            (TRANSCRIPTS, "Utterances of devices, by outcome of their transcription"),
        ] {
            recorder.describe_counter(KeyName::from_const_str(name), None, text.into());
        }
        let metadata = Metadata::new("toolyard", Level::INFO, None);
        let counter = |name: &'static str, outcome: &'static str| {
            let key = Key::from_parts(name, vec![Label::new("outcome", outcome)]);
            recorder.register_counter(&key, &metadata)
        };
        Self {
            synthesized: counter(SPEECH, "made"),
            cached: counter(SPEECH, "cached"),
            synthesis_failed: counter(SPEECH, "failed"),
            transcribed: counter(TRANSCRIPTS, "made"),
            empty: counter(TRANSCRIPTS, "empty"),
            transcription_failed: counter(TRANSCRIPTS, "failed"),
            dropped: counter(TRANSCRIPTS, "dropped"),
        }
    }

    /// Sets the value that is read when metrics are scraped.
    pub(crate) fn set_dropped(&self, dropped: u64) {
        self.dropped.absolute(dropped);
    }
}
