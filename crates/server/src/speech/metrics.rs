//! What was said and heard, counted. Neither words nor users are in it.

use metrics::{Counter, Key, KeyName, Label, Level, Metadata, Recorder as _};
use metrics_exporter_prometheus::PrometheusRecorder;

/// The counters, looked up once.
pub(crate) struct SpeechMetrics {
    /// Sounds that were made.
    pub(super) synthesized: Counter,
    /// Sounds that were there already.
    pub(super) cached: Counter,
    /// Sounds that could not be made.
    pub(super) synthesis_failed: Counter,
    /// Utterances of which there are words.
    pub(super) transcribed: Counter,
    /// Utterances without words.
    pub(super) empty: Counter,
    /// Utterances that the transcriber failed at.
    pub(super) transcription_failed: Counter,
    dropped: Counter,
}

impl SpeechMetrics {
    /// Registers them.
    pub(crate) fn new(recorder: &PrometheusRecorder) -> Self {
        const SPEECH: &str = "toolyard_speech_total";
        const TRANSCRIPTS: &str = "toolyard_transcripts_total";
        for (name, text) in [
            (SPEECH, "Speech that was asked for, by outcome"),
            (TRANSCRIPTS, "Utterances that devices let hear, by outcome"),
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

    /// What is read when the page is asked for.
    pub(crate) fn set_dropped(&self, dropped: u64) {
        self.dropped.absolute(dropped);
    }
}
