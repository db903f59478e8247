//! Prints a chat to the terminal: the text of an answer to stdout, everything else to stderr. If stderr is a terminal, a
//! status line shows what is running and is cleared again; otherwise progress is printed as lines.

use std::io::{self, Write};

use tokio::time::Instant;
use toolyard_client_sdk::{CallResult, ChatEvent, ToolData, ToolProgress, chat::NOTICE_TOOL_ROUNDS};
use toolyard_protocol::JsonLine;

use super::{
    formatting::{RESULT_CHARS, format_arguments, format_duration, summarize_output},
    style::TerminalStyle,
};
use crate::text;

/// Longest status line, in characters. A narrow terminal must not wrap it, or it could not be cleared.
const STATUS_CHARS: usize = 76;

/// The status before the first text.
const WAITING: &str = "waiting for the model";

const DIM: &str = "\u{1b}[2m";
const RED: &str = "\u{1b}[31m";
const BOLD: &str = "\u{1b}[1m";
const PLAIN: &str = "\u{1b}[0m";
/// Moves to the start of the line and clears it.
const WIPE: &str = "\r\u{1b}[K";

/// A running call.
struct OngoingCall {
    id: String,
    name: String,
    arguments: String,
    since: Instant,
}

/// The terminal.
pub(super) struct ChatScreen {
    out: Box<dyn Write + Send>,
    err: Box<dyn Write + Send>,
    style: TerminalStyle,
    /// Whether the last line of text is not terminated yet.
    mid_line: bool,
    /// Whether a status line is shown.
    has_status: bool,
    calls: Vec<OngoingCall>,
}

impl ChatScreen {
    pub(super) fn new(style: TerminalStyle) -> Self {
        Self::with_writers(Box::new(io::stdout()), Box::new(io::stderr()), style)
    }

    fn with_writers(out: Box<dyn Write + Send>, err: Box<dyn Write + Send>, style: TerminalStyle) -> Self {
        Self { out, err, style, mid_line: false, has_status: false, calls: Vec::new() }
    }

    /// Prints the input prompt.
    pub(super) fn print_prompt(&mut self) -> io::Result<()> {
        let (bold, plain) = if self.style.colour { (BOLD, PLAIN) } else { ("", "") };
        write!(self.err, "{bold}>{plain} ")?;
        self.err.flush()
    }

    /// Starts an answer.
    pub(super) fn begin_answer(&mut self) -> io::Result<()> {
        self.calls.clear();
        self.show_status(WAITING)
    }

    /// Ends an answer, complete or not.
    pub(super) fn end_answer(&mut self) -> io::Result<()> {
        self.calls.clear();
        self.clear_status()?;
        self.end_line()
    }

    /// Prints a note beside the answer.
    pub(super) fn print_note(&mut self, note: &str) -> io::Result<()> {
        self.print_line(DIM, &text::sanitize_block(note))
    }

    /// Shows an event of the answer.
    pub(super) fn show_event(&mut self, event: &ChatEvent, now: Instant) -> io::Result<()> {
        match event {
            ChatEvent::Step => {
                self.end_line()?;
                self.show_status(WAITING)
            }
            ChatEvent::Text { delta } => self.print_text(delta),
            ChatEvent::TextEnd => self.end_line(),
            ChatEvent::Reasoning { .. } => self.show_status("the model is thinking"),
            ChatEvent::ToolCall(call) => {
                let (id, name) = (call.id.clone(), call.tool.clone());
                self.calls.push(OngoingCall {
                    id,
                    name,
                    arguments: format_arguments(&call.input),
                    since: now,
                });
                self.show_running(&call.id, "")
            }
            ChatEvent::ToolAbout(about) => self.name_call(about),
            ChatEvent::SignInNeeded(data) => {
                self.print_note(&format!("{} needs you to sign in: {}", data.name, data.url))
            }
            ChatEvent::Progress { call_id, progress } => self.show_progress(call_id, progress),
            ChatEvent::ToolResult(result) => self.show_result(result, now),
            // The tools that did not run are printed at the end, by name.
            ChatEvent::Notice(notice) if notice.code == NOTICE_TOOL_ROUNDS => Ok(()),
            ChatEvent::Notice(notice) => self.print_note(&notice.message),
            _ => Ok(()),
        }
    }

    /// Prints a line of JSON.
    pub(super) fn print_json(&mut self, line: JsonLine) -> io::Result<()> {
        writeln!(self.out, "{}", text::sanitize_json(&line.into_string()))?;
        self.out.flush()
    }

    fn print_text(&mut self, chunk: &str) -> io::Result<()> {
        self.clear_status()?;
        let chunk = text::sanitize_block(chunk);
        if let Some(last) = chunk.chars().last() {
            self.mid_line = last != '\n';
        }
        self.out.write_all(chunk.as_bytes())?;
        self.out.flush()
    }

    fn end_line(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.mid_line) {
            self.out.write_all(b"\n")?;
            self.out.flush()?;
        }
        Ok(())
    }

    /// Shows a call by app and tool name, which are easier to read than the alias.
    fn name_call(&mut self, about: &ToolData) -> io::Result<()> {
        if let Some(call) = self.calls.iter_mut().find(|call| call.id == about.tool_call_id) {
            let tool = about.name.split_once(':').map_or(about.name.as_str(), |(_, tool)| tool);
            call.name = match &about.app {
                Some(app) => format!("{app}: {tool}"),
                None => tool.to_owned(),
            };
        }
        self.show_running(&about.tool_call_id, "")
    }

    fn show_progress(&mut self, call_id: &str, progress: &ToolProgress) -> io::Result<()> {
        let ToolProgress { done, total, message } = progress;
        // Progress may arrive after the call has ended.
        let Some(call) = self.calls.iter().find(|call| call.id == *call_id) else { return Ok(()) };
        let name = call.name.clone();
        let share = done / total.filter(|total| *total > 0.0).unwrap_or(1.0);
        let message = message.as_ref().map(|message| format!(" {message}")).unwrap_or_default();
        let far = format!("{:.0} %{message}", share * 100.0);
        if self.style.live {
            return self.show_running(call_id, &far);
        }
        let line = format!("  {name} … {far}");
        self.print_line(DIM, &text::truncate_text(&text::sanitize_line(&line), STATUS_CHARS))
    }

    fn show_running(&mut self, id: &str, far: &str) -> io::Result<()> {
        let Some(call) = self.calls.iter().find(|call| call.id == id) else { return Ok(()) };
        let line = format!("  {}({}) … {far}", call.name, call.arguments);
        self.show_status(&line)
    }

    fn show_result(&mut self, result: &CallResult, now: Instant) -> io::Result<()> {
        if !result.is_error {
            return self.end_call(
                &result.call_id,
                DIM,
                &format!("→ {}", summarize_output(&result.output)),
                now,
            );
        }
        let why = result.output["error"].as_str().unwrap_or_default();
        self.end_call(&result.call_id, RED, &format!("failed: {}", text::first_line(why, RESULT_CHARS)), now)
    }

    fn end_call(&mut self, id: &str, style: &str, came_to: &str, now: Instant) -> io::Result<()> {
        let Some(at) = self.calls.iter().position(|call| call.id == id) else { return Ok(()) };
        let OngoingCall { name, arguments, since, .. } = self.calls.remove(at);
        let took = format_duration(now.saturating_duration_since(since));
        self.print_line(style, &text::sanitize_line(&format!("  {name}({arguments}) {came_to} ({took})")))
    }

    /// Prints one or more separate lines to stderr.
    fn print_line(&mut self, style: &str, line: &str) -> io::Result<()> {
        self.clear_status()?;
        self.end_line()?;
        let (style, plain) = if self.style.colour { (style, PLAIN) } else { ("", "") };
        writeln!(self.err, "{style}{line}{plain}")?;
        self.err.flush()
    }

    /// Shows the status line. An unterminated line of text is ended first, so that it is not cleared with it.
    fn show_status(&mut self, line: &str) -> io::Result<()> {
        if !self.style.live {
            return Ok(());
        }
        self.end_line()?;
        let line = text::truncate_text(&text::sanitize_line(line), STATUS_CHARS);
        let (dim, plain) = if self.style.colour { (DIM, PLAIN) } else { ("", "") };
        write!(self.err, "{WIPE}{dim}{line}{plain}")?;
        self.has_status = true;
        self.err.flush()
    }

    fn clear_status(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.has_status) {
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
    use toolyard_client_sdk::{NoticeData, ToolCall as Made};

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

    const DUMB: TerminalStyle = TerminalStyle { live: false, colour: false };

    fn shown(style: TerminalStyle, events: &[ChatEvent]) -> String {
        let paper = Paper::default();
        let mut screen = ChatScreen::with_writers(Box::new(paper.clone()), Box::new(paper.clone()), style);
        let (start, mut time) = (Instant::now(), Duration::ZERO);
        screen.begin_answer().unwrap();
        for event in events {
            time += Duration::from_millis(100);
            screen.show_event(event, start + time).unwrap();
        }
        screen.end_answer().unwrap();
        paper.0.lock().unwrap().clone()
    }

    fn says(delta: &str) -> ChatEvent {
        ChatEvent::Text { delta: delta.to_owned() }
    }

    fn calls(tool: &str, input: Value) -> ChatEvent {
        ChatEvent::ToolCall(Made::new("c", tool, input))
    }

    fn comes_to(output: Value, is_error: bool) -> ChatEvent {
        let (call_id, tool) = ("c".to_owned(), "t".to_owned());
        ChatEvent::ToolResult(CallResult { call_id, tool, output, is_error, of_server: true })
    }

    fn is_far(done: f64, total: Option<f64>, message: Option<&str>) -> ChatEvent {
        let progress = ToolProgress { done, total, message: message.map(str::to_owned) };
        ChatEvent::Progress { call_id: "c".to_owned(), progress }
    }

    fn about() -> ChatEvent {
        let about = json!({ "toolCallId": "c", "name": "com.example.todo:add", "app": "Todo" });
        ChatEvent::ToolAbout(serde_json::from_value(about).unwrap())
    }

    fn notice(code: &str, message: &str) -> ChatEvent {
        ChatEvent::Notice(NoticeData { code: code.to_owned(), message: message.to_owned() })
    }

    fn story() -> Vec<ChatEvent> {
        vec![
            ChatEvent::Step,
            says("Let me "),
            says("see."),
            calls("com_example_todo__add", json!({ "item": "milk", "n": 2 })),
            about(),
            is_far(1.0, Some(2.0), Some("half way")),
            comes_to(json!("Added.\nMore."), false),
            is_far(1.0, None, None),
            says("Done."),
            ChatEvent::TextEnd,
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
    fn the_status_line_shows_the_running_call_and_is_cleared() {
        let live = shown(TerminalStyle { live: true, colour: false }, &story());
        let last = live.split(WIPE).collect::<Vec<_>>();
        assert_eq!(last[1], "waiting for the model");
        assert!(
            live.contains("\r\u{1b}[K  Todo: add(item: \"milk\", n: 2) … 50 % half way\r\u{1b}[K  Todo"),
            "{live:?}"
        );
        assert!(!live.contains(DIM));
        assert!(shown(TerminalStyle { live: true, colour: true }, &story()).contains(DIM));
    }

    #[test]
    fn failures_have_a_reason_and_control_characters_are_removed() {
        let printed = shown(
            DUMB,
            &[
                calls("t", json!({ "a": "\u{1b}[2J" })),
                comes_to(json!({ "error": "no\u{1b}[31m milk\nleft" }), true),
                says("a\u{1b}]0;x\u{7}b"),
                notice(NOTICE_TOOL_ROUNDS, "The limit is reached."),
                notice("steps", "Too many steps."),
            ],
        );
        assert!(!printed.contains('\u{1b}') && !printed.contains('\u{7}'), "{printed:?}");
        assert!(printed.contains("failed: no [31m milk (100 ms)\n"), "{printed}");
        assert!(printed.ends_with("b\nToo many steps.\n"), "{printed}");
    }

    #[test]
    fn long_arguments_and_results_are_truncated() {
        let long = "x".repeat(10_000);
        let style = TerminalStyle { live: true, colour: false };
        let events = [calls("t", json!({ "a": long, "b": long })), comes_to(json!({ "a": long }), false)];
        let printed = shown(style, &events);
        assert!(printed.chars().count() < 400, "{}", printed.len());
    }
}
