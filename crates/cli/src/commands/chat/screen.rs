//! What the terminal shows: the words of an answer on stdout, everything about it on stderr. Where stderr is a terminal, a
//! last line there tells what is under way and is wiped again; elsewhere progress is told in lines.

use std::io::{self, Write};

use tokio::time::Instant;
use toolyard_protocol::chat::ui::{ProgressData, ToolData};

use super::{
    chunk::Chunk,
    style::Style,
    words::{RESULT_CHARS, arguments, duration, few_words},
};
use crate::text;

/// Longest line that is wiped again: it must not be broken into two by a narrow terminal.
const STATUS_CHARS: usize = 76;

/// While nothing is said yet.
const WAITING: &str = "waiting for the model";

const DIM: &str = "\u{1b}[2m";
const RED: &str = "\u{1b}[31m";
const BOLD: &str = "\u{1b}[1m";
const PLAIN: &str = "\u{1b}[0m";
/// To the beginning of the line, and wipe it.
const WIPE: &str = "\r\u{1b}[K";

/// A call under way.
struct Call {
    id: String,
    name: String,
    arguments: String,
    since: Instant,
}

/// The terminal.
pub(super) struct Screen {
    out: Box<dyn Write + Send>,
    err: Box<dyn Write + Send>,
    style: Style,
    /// Whether the last line of words has no end yet.
    mid_line: bool,
    /// Whether a line stands that is to be wiped.
    status: bool,
    calls: Vec<Call>,
}

impl Screen {
    pub(super) fn new(style: Style) -> Self {
        Self::on(Box::new(io::stdout()), Box::new(io::stderr()), style)
    }

    fn on(out: Box<dyn Write + Send>, err: Box<dyn Write + Send>, style: Style) -> Self {
        Self { out, err, style, mid_line: false, status: false, calls: Vec::new() }
    }

    /// Asks for a line.
    pub(super) fn prompt(&mut self) -> io::Result<()> {
        let (bold, plain) = if self.style.colour { (BOLD, PLAIN) } else { ("", "") };
        write!(self.err, "{bold}>{plain} ")?;
        self.err.flush()
    }

    /// An answer begins.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        self.calls.clear();
        self.status(WAITING)
    }

    /// An answer is over, whatever came of it.
    pub(super) fn end(&mut self) -> io::Result<()> {
        self.calls.clear();
        self.wipe()?;
        self.end_line()
    }

    /// Says something beside the answer.
    pub(super) fn note(&mut self, note: &str) -> io::Result<()> {
        self.say(DIM, &text::block(note))
    }

    /// Shows what was told.
    pub(super) fn show(&mut self, chunk: &Chunk, now: Instant) -> io::Result<()> {
        match chunk {
            Chunk::StartStep => {
                self.end_line()?;
                self.status(WAITING)
            }
            Chunk::TextDelta { delta } => self.words(delta),
            Chunk::TextEnd => self.end_line(),
            Chunk::ReasoningDelta => self.status("the model thinks"),
            Chunk::ToolInputAvailable { tool_call_id, tool_name, input, .. } => {
                let (id, name) = (tool_call_id.clone(), tool_name.clone());
                self.calls.push(Call { id, name, arguments: arguments(input), since: now });
                self.running(tool_call_id, "")
            }
            Chunk::Tool { data } => self.names(data),
            Chunk::Progress { data } => self.progress(data),
            Chunk::ToolInputError { tool_name, input, error_text, .. } => {
                let call = format!("{tool_name}({})", arguments(input));
                self.say(RED, &format!("  {call} failed: {}", text::first_line(error_text, RESULT_CHARS)))
            }
            Chunk::ToolOutputAvailable { preliminary: true, .. } => Ok(()),
            Chunk::ToolOutputAvailable { tool_call_id, output, .. } => {
                self.ended(tool_call_id, DIM, &format!("→ {}", few_words(output)), now)
            }
            Chunk::ToolOutputError { tool_call_id, error_text } => {
                let why = format!("failed: {}", text::first_line(error_text, RESULT_CHARS));
                self.ended(tool_call_id, RED, &why, now)
            }
            Chunk::ToolOutputDenied { tool_call_id } => self.ended(tool_call_id, RED, "was denied", now),
            Chunk::Notice { data } => self.note(&data.message),
            Chunk::Abort => self.note("The server ended the answer."),
            Chunk::Start { .. } | Chunk::Error { .. } | Chunk::Finish | Chunk::Other => Ok(()),
        }
    }

    /// Writes a line for programs.
    pub(super) fn json(&mut self, line: &[u8]) -> io::Result<()> {
        self.out.write_all(line)?;
        self.out.write_all(b"\n")?;
        self.out.flush()
    }

    fn words(&mut self, words: &str) -> io::Result<()> {
        self.wipe()?;
        let words = text::block(words);
        if let Some(last) = words.chars().last() {
            self.mid_line = last != '\n';
        }
        self.out.write_all(words.as_bytes())?;
        self.out.flush()
    }

    fn end_line(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.mid_line) {
            self.out.write_all(b"\n")?;
            self.out.flush()?;
        }
        Ok(())
    }

    /// A tool is known better by its app and its own name than by its alias.
    fn names(&mut self, about: &ToolData) -> io::Result<()> {
        if let Some(call) = self.calls.iter_mut().find(|call| call.id == about.tool_call_id) {
            let tool = about.name.split_once(':').map_or(about.name.as_str(), |(_, tool)| tool);
            call.name = match &about.app {
                Some(app) => format!("{app}: {tool}"),
                None => tool.to_owned(),
            };
        }
        self.running(&about.tool_call_id, "")
    }

    fn progress(&mut self, progress: &ProgressData) -> io::Result<()> {
        let ProgressData { tool_call_id, progress, total, message } = progress;
        // The news of a call may come after its end.
        let Some(call) = self.calls.iter().find(|call| call.id == *tool_call_id) else { return Ok(()) };
        let name = call.name.clone();
        let share = progress / total.filter(|total| *total > 0.0).unwrap_or(1.0);
        let message = message.as_ref().map(|message| format!(" {message}")).unwrap_or_default();
        let far = format!("{:.0} %{message}", share * 100.0);
        if self.style.live {
            return self.running(tool_call_id, &far);
        }
        let told = format!("  {name} … {far}");
        self.say(DIM, &text::cut(&text::line(&told), STATUS_CHARS))
    }

    fn running(&mut self, id: &str, far: &str) -> io::Result<()> {
        let Some(call) = self.calls.iter().find(|call| call.id == id) else { return Ok(()) };
        let told = format!("  {}({}) … {far}", call.name, call.arguments);
        self.status(&told)
    }

    fn ended(&mut self, id: &str, style: &str, came_to: &str, now: Instant) -> io::Result<()> {
        let Some(at) = self.calls.iter().position(|call| call.id == id) else { return Ok(()) };
        let Call { name, arguments, since, .. } = self.calls.remove(at);
        let took = duration(now.saturating_duration_since(since));
        self.say(style, &text::line(&format!("  {name}({arguments}) {came_to} ({took})")))
    }

    /// One line or more on stderr, of its own.
    fn say(&mut self, style: &str, words: &str) -> io::Result<()> {
        self.wipe()?;
        self.end_line()?;
        let (style, plain) = if self.style.colour { (style, PLAIN) } else { ("", "") };
        writeln!(self.err, "{style}{words}{plain}")?;
        self.err.flush()
    }

    /// The line that is wiped again. Words that have no end yet would be wiped with it.
    fn status(&mut self, words: &str) -> io::Result<()> {
        if !self.style.live {
            return Ok(());
        }
        self.end_line()?;
        let words = text::cut(&text::line(words), STATUS_CHARS);
        let (dim, plain) = if self.style.colour { (DIM, PLAIN) } else { ("", "") };
        write!(self.err, "{WIPE}{dim}{words}{plain}")?;
        self.status = true;
        self.err.flush()
    }

    fn wipe(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.status) {
            self.err.write_all(WIPE.as_bytes())?;
            self.err.flush()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{Arc, Mutex},
        time::Duration,
    };

    use serde_json::{Value, json};

    use super::*;

    /// Both writers, in the order in which a terminal would get it.
    #[derive(Clone, Default)]
    struct Paper(Arc<Mutex<String>>);

    impl Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().push_str(std::str::from_utf8(bytes).unwrap());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    const DUMB: Style = Style { live: false, colour: false };

    fn shown(style: Style, chunks: &[Value]) -> String {
        let paper = Paper::default();
        let mut screen = Screen::on(Box::new(paper.clone()), Box::new(paper.clone()), style);
        let (start, mut time) = (Instant::now(), Duration::ZERO);
        screen.begin().unwrap();
        for chunk in chunks {
            time += Duration::from_millis(100);
            screen.show(&super::super::chunk::read(chunk.to_string().as_bytes()), start + time).unwrap();
        }
        screen.end().unwrap();
        paper.0.lock().unwrap().clone()
    }

    fn story() -> Vec<Value> {
        vec![
            json!({ "type": "start-step" }),
            json!({ "type": "text-delta", "id": "t", "delta": "Let me " }),
            json!({ "type": "text-delta", "id": "t", "delta": "see." }),
            json!({ "type": "tool-input-available", "toolCallId": "c", "toolName": "com_example_todo__add",
                "input": { "item": "milk", "n": 2 }, "providerExecuted": true }),
            json!({ "type": "data-tool", "id": "c", "data": { "toolCallId": "c", "name": "com.example.todo:add", "app": "Todo" } }),
            json!({ "type": "data-progress", "transient": true,
                "data": { "toolCallId": "c", "progress": 1, "total": 2, "message": "half way" } }),
            json!({ "type": "tool-output-available", "toolCallId": "c", "output": "Added.\nMore." }),
            json!({ "type": "data-progress", "transient": true, "data": { "toolCallId": "c", "progress": 1 } }),
            json!({ "type": "text-delta", "id": "u", "delta": "Done." }),
            json!({ "type": "text-end", "id": "u" }),
        ]
    }

    #[test]
    fn a_call_is_one_line_between_the_words() {
        assert_eq!(
            shown(DUMB, &story()),
            "Let me see.\n  Todo: add … 50 % half way\n  Todo: add(item: \"milk\", n: 2) → Added. … (300 ms)\nDone.\n"
        );
    }

    #[test]
    fn a_terminal_tells_what_is_under_way_and_wipes_it() {
        let live = shown(Style { live: true, colour: false }, &story());
        let last = live.split(WIPE).collect::<Vec<_>>();
        assert_eq!(last[1], "waiting for the model");
        assert!(
            live.contains("\r\u{1b}[K  Todo: add(item: \"milk\", n: 2) … 50 % half way\r\u{1b}[K  Todo"),
            "{live:?}"
        );
        assert!(!live.contains(DIM));
        assert!(shown(Style { live: true, colour: true }, &story()).contains(DIM));
    }

    #[test]
    fn failures_say_why_and_nothing_moves_the_cursor() {
        let told = shown(
            DUMB,
            &[
                json!({ "type": "tool-input-available", "toolCallId": "c", "toolName": "t", "input": { "a": "\u{1b}[2J" } }),
                json!({ "type": "tool-output-error", "toolCallId": "c", "errorText": "no\u{1b}[31m milk\nleft" }),
                json!({ "type": "text-delta", "delta": "a\u{1b}]0;x\u{7}b" }),
                json!({ "type": "data-notice", "data": { "code": "steps", "message": "Too many steps." } }),
            ],
        );
        assert!(!told.contains('\u{1b}') && !told.contains('\u{7}'), "{told:?}");
        assert!(told.contains("failed: no [31m milk (100 ms)\n"), "{told}");
        assert!(told.ends_with("b\nToo many steps.\n"), "{told}");
    }

    #[test]
    fn what_is_long_is_cut() {
        let long = "x".repeat(10_000);
        let told = shown(
            Style { live: true, colour: false },
            &[
                json!({ "type": "tool-input-available", "toolCallId": "c", "toolName": "t", "input": { "a": long, "b": long } }),
                json!({ "type": "tool-output-available", "toolCallId": "c", "output": { "a": long } }),
            ],
        );
        assert!(told.chars().count() < 400, "{}", told.len());
    }
}
