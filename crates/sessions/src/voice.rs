//! Voice activity detection: finds utterances in an audio stream by comparing loudness with background noise. Pure
//! logic: time is counted in samples.

use std::{collections::VecDeque, fmt};

/// Sample rate of devices' audio.
pub const SAMPLES_PER_SECOND: u32 = 16_000;
/// Bytes of a sample: signed, little endian.
const SAMPLE_BYTES: usize = 2;
/// Length of an analysis window, in milliseconds.
const WINDOW_MS: u64 = 20;
/// Bytes of a window.
const WINDOW: usize = SAMPLES_PER_SECOND as usize / 1_000 * WINDOW_MS as usize * SAMPLE_BYTES;
/// Silence that ends an utterance, in milliseconds.
pub(crate) const SILENCE_MS: u64 = 700;
/// Longest utterance, in milliseconds; longer speech is split.
const LONGEST_MS: u64 = 20_000;
/// Windows that are kept from before the first loud one, because words begin softly.
const LEAD_WINDOWS: usize = 15;
/// Consecutive loud windows that begin an utterance.
const BEGIN_WINDOWS: usize = 3;
/// Fewest loud windows of an utterance; less is a click.
const LEAST_WINDOWS: usize = 8;
/// Windows of silence that are kept at the end of an utterance.
const TAIL_WINDOWS: usize = 10;
/// Minimum loudness of a loud window, as root mean square of its samples.
const LEAST_LOUD: f32 = 250.0;
/// How many times louder than the noise a voice must be.
const OVER_NOISE: f32 = 3.0;
/// The initial noise level.
const FIRST_NOISE: f32 = 60.0;
/// How fast the noise level falls and rises with each window: syllables have gaps, engines have none.
const NOISE_FALLS: f32 = 0.2;
const NOISE_RISES: f32 = 0.002;

/// An utterance: from its first sound to the silence after it.
#[derive(Clone, PartialEq, Eq)]
pub struct Utterance {
    /// 16 bits signed, little endian, one channel, [`SAMPLES_PER_SECOND`].
    pub sound: Vec<u8>,
    /// Its beginning in the stream, in milliseconds.
    pub start_ms: u64,
    /// Its end in the stream, in milliseconds.
    pub end_ms: u64,
}

impl fmt::Debug for Utterance {
    /// Without the audio, which must not reach a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Utterance").field("start_ms", &self.start_ms).field("end_ms", &self.end_ms).finish()
    }
}

/// Extracts utterances from an audio stream.
pub(crate) struct VoiceActivity {
    /// The beginning of an incomplete window.
    partial_window: Vec<u8>,
    /// The windows before speech, the oldest first.
    lead: VecDeque<[u8; WINDOW]>,
    /// The current utterance; empty if nobody speaks.
    speech: Vec<u8>,
    /// Windows since the beginning of the stream.
    windows_seen: u64,
    /// Consecutive loud windows before speech; all loud windows during speech.
    loud: usize,
    /// Consecutive silent windows during speech.
    quiet: usize,
    noise: f32,
}

impl fmt::Debug for VoiceActivity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VoiceActivity").field("windows_seen", &self.windows_seen).finish_non_exhaustive()
    }
}

impl Default for VoiceActivity {
    fn default() -> Self {
        Self {
            partial_window: Vec::new(),
            lead: VecDeque::new(),
            speech: Vec::new(),
            windows_seen: 0,
            loud: 0,
            quiet: 0,
            noise: FIRST_NOISE,
        }
    }
}

impl VoiceActivity {
    /// Processes a chunk of audio of any length; returns the utterances that ended in it.
    pub(crate) fn push_audio(&mut self, mut sound: &[u8]) -> Vec<Utterance> {
        let mut ended = Vec::new();
        while !sound.is_empty() {
            let missing = WINDOW - self.partial_window.len();
            let (now, later) = sound.split_at(missing.min(sound.len()));
            self.partial_window.extend_from_slice(now);
            sound = later;
            if let Ok(window) = <[u8; WINDOW]>::try_from(self.partial_window.as_slice()) {
                self.partial_window.clear();
                ended.extend(self.push_window(&window));
            }
        }
        ended
    }

    /// Whether an utterance is in progress.
    pub(crate) fn is_speaking(&self) -> bool {
        !self.speech.is_empty()
    }

    /// Ends the current utterance because no more audio arrives. An incomplete window is kept, so that samples stay
    /// aligned.
    pub(crate) fn finish(&mut self) -> Option<Utterance> {
        self.lead.clear();
        if self.is_speaking() { self.end_utterance() } else { None }
    }

    fn push_window(&mut self, window: &[u8; WINDOW]) -> Option<Utterance> {
        self.windows_seen += 1;
        let loud = self.is_loud(loudness(window));
        if !self.is_speaking() {
            self.loud = if loud { self.loud + 1 } else { 0 };
            if self.lead.len() == LEAD_WINDOWS {
                self.lead.pop_front();
            }
            self.lead.push_back(*window);
            if self.loud >= BEGIN_WINDOWS {
                self.speech.extend(self.lead.drain(..).flatten());
                self.quiet = 0;
            }
            return None;
        }
        self.speech.extend_from_slice(window);
        if loud {
            (self.loud, self.quiet) = (self.loud + 1, 0);
        } else {
            self.quiet += 1;
        }
        let over = self.quiet as u64 * WINDOW_MS >= SILENCE_MS;
        let long = window_count(&self.speech) * WINDOW_MS >= LONGEST_MS;
        if over || long { self.end_utterance() } else { None }
    }

    /// Compares the loudness with the noise level, and updates that level.
    fn is_loud(&mut self, loudness: f32) -> bool {
        let loud = loudness > LEAST_LOUD.max(self.noise * OVER_NOISE);
        let pace = if loudness < self.noise { NOISE_FALLS } else { NOISE_RISES };
        self.noise += (loudness - self.noise) * pace;
        loud
    }

    fn end_utterance(&mut self) -> Option<Utterance> {
        let mut sound = std::mem::take(&mut self.speech);
        let (loud, quiet) = (std::mem::take(&mut self.loud), std::mem::take(&mut self.quiet));
        let start = self.windows_seen.saturating_sub(window_count(&sound));
        sound.truncate(sound.len().saturating_sub(quiet.saturating_sub(TAIL_WINDOWS) * WINDOW));
        let end_ms = (start + window_count(&sound)) * WINDOW_MS;
        (loud >= LEAST_WINDOWS).then_some(Utterance { sound, start_ms: start * WINDOW_MS, end_ms })
    }
}

fn window_count(sound: &[u8]) -> u64 {
    (sound.len() / WINDOW) as u64
}

/// The root mean square of the samples.
fn loudness(window: &[u8; WINDOW]) -> f32 {
    let (samples, _) = window.as_chunks::<SAMPLE_BYTES>();
    let square = |sample: &[u8; SAMPLE_BYTES]| f32::from(i16::from_le_bytes(*sample)).powi(2);
    #[expect(clippy::cast_precision_loss, reason = "a window has a few hundred samples")]
    let count = samples.len() as f32;
    (samples.iter().map(square).sum::<f32>() / count).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tone, or silence at 0, with this amplitude.
    fn sound(ms: u64, amplitude: i16) -> Vec<u8> {
        let samples = ms * u64::from(SAMPLES_PER_SECOND) / 1_000;
        (0..samples).flat_map(|n| (if n % 16 < 8 { amplitude } else { -amplitude }).to_le_bytes()).collect()
    }

    fn ms(sound: &[u8]) -> u64 {
        window_count(sound) * WINDOW_MS
    }

    #[test]
    fn an_utterance_is_what_lies_between_two_silences() {
        let mut voice = VoiceActivity::default();
        let stream =
            [sound(1_000, 20), sound(500, 4_000), sound(400, 20), sound(500, 4_000), sound(1_000, 20)];
        let ended = voice.push_audio(&stream.concat());
        let [said] = ended.as_slice() else { panic!("{ended:?}") };
        // 240 ms from before it, the pause within it, and 200 ms after it.
        assert_eq!((said.start_ms, said.end_ms, ms(&said.sound)), (760, 2_600, 1_840));
        assert!(!voice.is_speaking());
        assert_eq!(voice.finish(), None);
    }

    #[test]
    fn chunk_sizes_do_not_matter() {
        let stream = [sound(400, 0), sound(600, 4_000), sound(900, 0), sound(300, 3_000), sound(900, 0)];
        let stream = stream.concat();
        let whole = VoiceActivity::default().push_audio(&stream);
        assert_eq!(whole.len(), 2);
        for size in [1, 7, 320, 639, 641, 5_000] {
            let mut voice = VoiceActivity::default();
            let ended: Vec<_> = stream.chunks(size).flat_map(|piece| voice.push_audio(piece)).collect();
            assert_eq!(ended, whole, "{size}");
        }
    }

    #[test]
    fn silence_noise_and_clicks_are_no_speech() {
        let mut voice = VoiceActivity::default();
        assert_eq!(voice.push_audio(&sound(30_000, 0)), []);
        assert_eq!(voice.push_audio(&sound(5_000, 200)), []);
        assert_eq!(voice.push_audio(&[sound(40, 8_000), sound(1_000, 0)].concat()), []);
        assert!(!voice.is_speaking());
        // It begins as speech would, and is too short for a word.
        assert_eq!(voice.push_audio(&[sound(100, 8_000), sound(1_000, 0)].concat()), []);
        assert!(!voice.is_speaking());
    }

    #[test]
    fn steady_noise_is_learnt_and_a_voice_is_heard_over_it() {
        let mut voice = VoiceActivity::default();
        let cut = voice.push_audio(&sound(60_000, 1_000));
        assert!(cut.len() <= 2, "{cut:?}");
        assert!(!voice.is_speaking());
        let ended = voice.push_audio(&[sound(600, 8_000), sound(1_000, 1_000)].concat());
        assert_eq!(ended.len(), 1);
    }

    #[test]
    fn long_speech_is_split() {
        let mut voice = VoiceActivity::default();
        let (syllable, gap) = (sound(200, 4_000), sound(100, 0));
        let ended: Vec<_> =
            (0..150).flat_map(|_| voice.push_audio(&[syllable.clone(), gap.clone()].concat())).collect();
        assert_eq!(ended.iter().map(|said| ms(&said.sound)).collect::<Vec<_>>(), [LONGEST_MS, LONGEST_MS]);
        assert!(ended[0].end_ms <= ended[1].start_ms);
        assert!(voice.is_speaking());
    }

    #[test]
    fn an_utterance_ends_when_no_more_audio_arrives() {
        let mut voice = VoiceActivity::default();
        assert_eq!(voice.push_audio(&sound(500, 4_000)), []);
        assert!(voice.is_speaking());
        let said = voice.finish().unwrap();
        assert_eq!(ms(&said.sound), 500);
        assert_eq!(voice.finish(), None);
    }

    #[test]
    fn samples_stay_whole_over_a_pause() {
        let mut voice = VoiceActivity::default();
        let stream = [sound(500, 4_000), sound(100, 0)].concat();
        let (first, rest) = stream.split_at(12_345);
        assert_eq!(voice.push_audio(first), []);
        assert!(voice.finish().is_some());
        // Half a sample later the square wave would be noise of another loudness, and the silence after it none.
        assert_eq!(voice.push_audio(&[rest, &sound(900, 0)].concat()), []);
        let ended = voice.push_audio(&[sound(300, 4_000), sound(900, 0)].concat());
        let [said] = ended.as_slice() else { panic!("{ended:?}") };
        let (samples, _) = said.sound.as_chunks::<2>();
        assert!(samples.iter().all(|sample| [4_000, -4_000, 0].contains(&i16::from_le_bytes(*sample))));
    }

    #[test]
    fn debug_output_contains_no_audio() {
        let said = Utterance { sound: vec![7; 4], start_ms: 1, end_ms: 2 };
        assert_eq!(format!("{said:?}"), "Utterance { start_ms: 1, end_ms: 2 }");
    }
}
