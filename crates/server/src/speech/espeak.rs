//! espeak-ng, a program on this machine. Words go in by its input, never by its arguments or a shell, so that nothing in
//! them is an option or a command.

use std::{
    path::PathBuf,
    process::{ExitStatus, Stdio},
};

use async_trait::async_trait;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    process::{Child, Command},
    sync::{OwnedSemaphorePermit, oneshot},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    synthesizer::{SpeakError, SpeechAudio, SpeechSynthesizer, SynthesisJob},
    wav,
};
use crate::config::SoundFormat;

/// The name of the program on the PATH.
pub(super) const PROGRAM: &str = "espeak-ng";
/// The voice where nothing says otherwise.
pub(super) const VOICE: &str = "en-us";
/// Its usual speed, in words a minute.
const WORDS_PER_MINUTE: u32 = 175;

/// The program.
pub(super) struct EspeakSynthesizer {
    pub(super) program: PathBuf,
    pub(super) voice: String,
    /// Largest sound in bytes.
    pub(super) max_bytes: usize,
    pub(super) tasks: TaskTracker,
}

impl EspeakSynthesizer {
    fn espeak_command(&self, words: &SynthesisJob) -> Command {
        let speed = WORDS_PER_MINUTE * u32::from(words.speed) / 100;
        let mut command = Command::new(&self.program);
        command
            .args(["--stdin", "--stdout", "-b", "1", "-s", &speed.to_string(), "-v", &words.voice])
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        command
    }
}

#[async_trait]
impl SpeechSynthesizer for EspeakSynthesizer {
    fn default_format(&self) -> SoundFormat {
        SoundFormat::Wav
    }

    fn supports_format(&self, format: SoundFormat) -> bool {
        format == SoundFormat::Wav
    }

    fn default_voice(&self) -> &str {
        &self.voice
    }

    /// Its voices are named by languages.
    fn voice_for(&self, language: &str) -> Option<String> {
        Some(language.to_ascii_lowercase())
    }

    async fn synthesize(
        &self,
        words: &SynthesisJob,
        turn: OwnedSemaphorePermit,
    ) -> Result<SpeechAudio, SpeakError> {
        let failed = |why: std::io::Error| {
            SpeakError::Failed(format!("{} could not be started: {why}", self.program.display()))
        };
        let mut child = self.espeak_command(words).spawn().map_err(failed)?;
        let left = CancellationToken::new();
        let _leaving = left.clone().drop_guard();
        let (tell, told) = oneshot::channel();
        let (text, most) = (sanitize_text(&words.text), self.max_bytes);
        // On a task of its own, which sees the process out when nobody waits for it any more.
        self.tasks.spawn(async move {
            let spoken = left.run_until_cancelled(run_espeak(&mut child, &text, most)).await;
            if !matches!(spoken, Some(Ok(_))) {
                // It may have ended by itself.
                let _ = child.kill().await;
            }
            drop(turn);
            let _ = tell.send(spoken.unwrap_or(Err(SpeakError::TimedOut)));
        });
        let (sound, status) = told.await.unwrap_or(Err(SpeakError::TimedOut))?;
        if !status.success() {
            return Err(exit_error(words, status));
        }
        let wav = wav::fix_wav_lengths(sound);
        let wav = wav.ok_or_else(|| SpeakError::Failed(format!("{PROGRAM} gave no sound")))?;
        Ok(SpeechAudio { media_type: SoundFormat::Wav.media_type(), bytes: wav.into() })
    }
}

/// What it means that the program ended so. One that was killed did not refuse anything.
fn exit_error(words: &SynthesisJob, status: ExitStatus) -> SpeakError {
    match &words.guessed_from {
        // The voice that the program refuses was the caller's wish.
        Some(language) if status.code().is_some() => {
            tracing::info!(language, voice = words.voice, %status, "{PROGRAM} did not speak a language");
            SpeakError::Language(language.clone())
        }
        _ => SpeakError::Failed(format!("{PROGRAM} ended: {status}; voice `{}`", words.voice)),
    }
}

/// Feeds the process, reads what it says, and waits for its end.
async fn run_espeak(child: &mut Child, text: &str, most: usize) -> Result<(Vec<u8>, ExitStatus), SpeakError> {
    let failed = |why: std::io::Error| SpeakError::Failed(format!("{PROGRAM}: {why}"));
    let (input, output) = (child.stdin.take(), child.stdout.take());
    let (Some(mut input), Some(output)) = (input, output) else {
        return Err(SpeakError::Failed(format!("{PROGRAM} has no input or output")));
    };
    let feed = async {
        // One that ends early has its reasons, which its status tells.
        let _ = input.write_all(text.as_bytes()).await;
        drop(input);
    };
    let mut sound = Vec::new();
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    let mut output = output.take(limit);
    let ((), read) = tokio::join!(feed, output.read_to_end(&mut sound));
    read.map_err(failed)?;
    if sound.len() > most {
        return Err(SpeakError::TooLong(most));
    }
    Ok((sound, child.wait().await.map_err(failed)?))
}

/// The text without what the program would read as more than text: control characters, with which commands begin, and double
/// brackets, between which phonemes stand. Markup it reads aloud, as it is not told to understand any.
fn sanitize_text(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for letter in text.chars() {
        let letter = if letter.is_control() && letter != '\n' { ' ' } else { letter };
        if letter == '[' && plain.ends_with('[') {
            plain.push(' ');
        }
        plain.push(letter);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_language_is_blamed_only_where_the_program_refuses_it() {
        use std::os::unix::process::ExitStatusExt as _;

        let words = |guessed: Option<&str>| SynthesisJob {
            text: "a".into(),
            voice: "xx".into(),
            format: SoundFormat::Wav,
            speed: 100,
            guessed_from: guessed.map(Into::into),
        };
        let (code, killed) = (ExitStatus::from_raw(1 << 8), ExitStatus::from_raw(9));
        assert!(matches!(exit_error(&words(Some("xx")), code), SpeakError::Language(_)));
        assert!(matches!(exit_error(&words(Some("xx")), killed), SpeakError::Failed(_)));
        assert!(matches!(exit_error(&words(None), code), SpeakError::Failed(_)));
    }

    #[test]
    fn text_is_only_text() {
        assert_eq!(sanitize_text("one\ntwo"), "one\ntwo");
        assert_eq!(sanitize_text("a\u{1}10Vb\u{0}c\r\u{1b}"), "a 10Vb c  ");
        assert_eq!(sanitize_text("[[h@l'oU]] [[["), "[ [h@l'oU]] [ [ [");
        assert_eq!(sanitize_text("-f /etc/passwd; rm <break/>"), "-f /etc/passwd; rm <break/>");
    }
}
