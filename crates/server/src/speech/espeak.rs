//! Speech by espeak-ng, a program on this machine. The text is written to its standard input, never to its arguments or a
//! shell, so that nothing in it can be an option or a command.

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
/// The default voice.
pub(super) const VOICE: &str = "en-us";
/// Its default speed, in words per minute.
const WORDS_PER_MINUTE: u32 = 175;

/// Runs espeak-ng.
pub(super) struct EspeakSynthesizer {
    pub(super) program: PathBuf,
    pub(super) voice: String,
    /// Largest audio in bytes.
    pub(super) max_bytes: usize,
    pub(super) tasks: TaskTracker,
}

impl EspeakSynthesizer {
    fn espeak_command(&self, job: &SynthesisJob) -> Command {
        let speed = WORDS_PER_MINUTE * u32::from(job.speed) / 100;
        let mut command = Command::new(&self.program);
        command
            .args(["--stdin", "--stdout", "-b", "1", "-s", &speed.to_string(), "-v", &job.voice])
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

    /// Its voices are named after languages.
    fn voice_for(&self, language: &str) -> Option<String> {
        Some(language.to_ascii_lowercase())
    }

    async fn synthesize(
        &self,
        job: &SynthesisJob,
        turn: OwnedSemaphorePermit,
    ) -> Result<SpeechAudio, SpeakError> {
        let failed = |error: std::io::Error| {
            SpeakError::Failed(format!("{} could not be started: {error}", self.program.display()))
        };
        let mut child = self.espeak_command(job).spawn().map_err(failed)?;
        let caller_left = CancellationToken::new();
        let _drop_guard = caller_left.clone().drop_guard();
        let (sender, receiver) = oneshot::channel();
        let (text, max_bytes) = (sanitize_text(&job.text), self.max_bytes);
        // On a task of its own, which ends the process and waits for it even if the caller has left.
        self.tasks.spawn(async move {
            let spoken = caller_left.run_until_cancelled(run_espeak(&mut child, &text, max_bytes)).await;
            if !matches!(spoken, Some(Ok(_))) {
                // Fails if the process has already exited.
                let _ = child.kill().await;
            }
            drop(turn);
            let _ = sender.send(spoken.unwrap_or(Err(SpeakError::TimedOut)));
        });
        let (sound, status) = receiver.await.unwrap_or(Err(SpeakError::TimedOut))?;
        if !status.success() {
            return Err(exit_error(job, status));
        }
        let wav = wav::fix_wav_lengths(sound);
        let wav = wav.ok_or_else(|| SpeakError::Failed(format!("{PROGRAM} produced no audio")))?;
        Ok(SpeechAudio { media_type: SoundFormat::Wav.media_type(), bytes: wav.into() })
    }
}

/// The error for an exit status. A killed process did not refuse the voice.
fn exit_error(job: &SynthesisJob, status: ExitStatus) -> SpeakError {
    match &job.guessed_from {
        // The voice was guessed from the caller's language.
        Some(language) if status.code().is_some() => {
            tracing::info!(language, voice = job.voice, %status, "espeak-ng does not support a language");
            SpeakError::Language(language.clone())
        }
        _ => SpeakError::Failed(format!("{PROGRAM} failed: {status}; voice `{}`", job.voice)),
    }
}

/// Writes the text to the process, reads its audio, and waits for its exit.
async fn run_espeak(
    child: &mut Child,
    text: &str,
    max_bytes: usize,
) -> Result<(Vec<u8>, ExitStatus), SpeakError> {
    let failed = |error: std::io::Error| SpeakError::Failed(format!("{PROGRAM}: {error}"));
    let (input, output) = (child.stdin.take(), child.stdout.take());
    let (Some(mut input), Some(output)) = (input, output) else {
        return Err(SpeakError::Failed(format!("{PROGRAM} has no stdin or stdout")));
    };
    let feed = async {
        // If the process exits early, its status tells why.
        let _ = input.write_all(text.as_bytes()).await;
        drop(input);
    };
    let mut sound = Vec::new();
    let limit = u64::try_from(max_bytes).unwrap_or(u64::MAX).saturating_add(1);
    let mut output = output.take(limit);
    let ((), read) = tokio::join!(feed, output.read_to_end(&mut sound));
    read.map_err(failed)?;
    if sound.len() > max_bytes {
        return Err(SpeakError::TooLong(max_bytes));
    }
    Ok((sound, child.wait().await.map_err(failed)?))
}

/// Removes what espeak-ng would interpret: control characters, which start commands, and double brackets, which enclose
/// phonemes. Markup is read aloud, because it is not enabled.
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
    fn a_killed_process_is_not_an_unsupported_language() {
        use std::os::unix::process::ExitStatusExt as _;

        let job = |guessed: Option<&str>| SynthesisJob {
            text: "a".into(),
            voice: "xx".into(),
            format: SoundFormat::Wav,
            speed: 100,
            guessed_from: guessed.map(Into::into),
        };
        let (code, killed) = (ExitStatus::from_raw(1 << 8), ExitStatus::from_raw(9));
        assert!(matches!(exit_error(&job(Some("xx")), code), SpeakError::Language(_)));
        assert!(matches!(exit_error(&job(Some("xx")), killed), SpeakError::Failed(_)));
        assert!(matches!(exit_error(&job(None), code), SpeakError::Failed(_)));
    }

    #[test]
    fn text_cannot_contain_commands_or_phonemes() {
        assert_eq!(sanitize_text("one\ntwo"), "one\ntwo");
        assert_eq!(sanitize_text("a\u{1}10Vb\u{0}c\r\u{1b}"), "a 10Vb c  ");
        assert_eq!(sanitize_text("[[h@l'oU]] [[["), "[ [h@l'oU]] [ [ [");
        assert_eq!(sanitize_text("-f /etc/passwd; rm <break/>"), "-f /etc/passwd; rm <break/>");
    }
}
