//! The position in the Markdown of a reply: at the start of a line, in a code block, in inline code, or in prose.
//!
//! A fence opens with three or more backticks that are not closed on their line, at any position (models put them after
//! list marks), or with tildes at the start of a line. It closes with a line of at least as many of the same. Inline
//! code ends with its line at the latest: a stray backtick must not hide calls in later lines.

/// A line that is indented further than this is code, as in Markdown.
const MAX_INDENT: usize = 3;
/// Shortest fence.
const FENCE: usize = 3;
/// How wide a tab is.
const TAB: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CodeFence {
    mark: char,
    length: usize,
}

/// How much of a closing fence the line has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum FenceClosing {
    /// White space and quote marks so far.
    #[default]
    Lead,
    Marks(usize),
    After(usize),
    No,
}

/// The position in the text that was shown.
#[derive(Debug, Clone)]
pub(super) struct MarkdownPosition {
    /// Only white space on this line so far.
    start: bool,
    indent: usize,
    previous: Option<char>,
    /// Backticks in the current run.
    run: usize,
    /// How many backticks opened inline code, or a fence whose line has not ended.
    code: Option<usize>,
    /// Tildes at the start of the line.
    tildes: usize,
    fence: Option<CodeFence>,
    closing: FenceClosing,
}

impl Default for MarkdownPosition {
    fn default() -> Self {
        Self {
            start: true,
            indent: 0,
            previous: None,
            run: 0,
            code: None,
            tildes: 0,
            fence: None,
            closing: FenceClosing::default(),
        }
    }
}

impl MarkdownPosition {
    /// Takes the next character of the text.
    pub(super) fn push_char(&mut self, c: char) {
        if c == '\n' {
            self.end_line();
        } else if let Some(fence) = self.fence {
            self.closing = self.closing.next(c, fence.mark);
        } else {
            self.pass_prose(c);
        }
        self.previous = Some(c);
    }

    fn pass_prose(&mut self, c: char) {
        if c == '`' {
            self.run += 1;
        } else {
            self.end_run();
        }
        if c == '~' && (self.start || (self.tildes > 0 && self.previous == Some('~'))) {
            self.tildes += 1;
        }
        match c {
            ' ' if self.start => self.indent += 1,
            '\t' if self.start => self.indent += TAB,
            '\r' => {}
            _ => self.start = false,
        }
    }

    fn end_run(&mut self) {
        let run = std::mem::take(&mut self.run);
        if run > 0 {
            self.code = match self.code {
                None => Some(run),
                Some(open) if open == run => None,
                Some(open) => Some(open),
            };
        }
    }

    fn end_line(&mut self) {
        self.end_run();
        let code = self.code.take().filter(|length| *length >= FENCE);
        self.fence = match self.fence {
            Some(fence) if self.closing.closes_fence(fence) => None,
            Some(fence) => Some(fence),
            None if self.tildes >= FENCE => Some(CodeFence { mark: '~', length: self.tildes }),
            None => code.map(|length| CodeFence { mark: '`', length }),
        };
        (self.start, self.indent, self.tildes, self.closing) = (true, 0, 0, FenceClosing::default());
    }

    /// Whether a line begins here, with `more` columns of white space, and is not code.
    pub(super) fn is_start(&self, more: usize) -> bool {
        self.start && self.fence.is_none() && self.indent + more <= MAX_INDENT
    }

    /// Whether we are in a code block or in inline code.
    pub(super) fn is_code(&self) -> bool {
        self.fence.is_some() || self.code.is_some() || self.run > 0
    }

    /// Whether the next character is attached to a word: outside of code, without white space, a quote or a bracket
    /// between.
    pub(super) fn is_glued(&self) -> bool {
        self.previous.is_some_and(|c| !c.is_whitespace() && !"\"'`“”‘’«»„「(<>[{|*_=".contains(c))
    }
}

/// The width of white space in columns.
pub(super) fn column_width(space: &str) -> usize {
    space.chars().map(|c| if c == '\t' { TAB } else { 1 }).sum()
}

impl FenceClosing {
    fn next(self, c: char, mark: char) -> Self {
        match self {
            Self::Lead if c == mark => Self::Marks(1),
            Self::Lead if c == '>' || c.is_whitespace() => Self::Lead,
            Self::Marks(count) if c == mark => Self::Marks(count + 1),
            Self::Marks(count) | Self::After(count) if c.is_whitespace() => Self::After(count),
            Self::Lead | Self::Marks(_) | Self::After(_) | Self::No => Self::No,
        }
    }

    fn closes_fence(self, fence: CodeFence) -> bool {
        matches!(self, Self::Marks(count) | Self::After(count) if count >= fence.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(text: &str) -> MarkdownPosition {
        let mut lines = MarkdownPosition::default();
        text.chars().for_each(|c| lines.push_char(c));
        lines
    }

    #[test]
    fn fences_open_and_close() {
        for open in [
            "```\n",
            "a\n```json\n",
            "1. ```sh\n",
            "> ```\n",
            "~~~\n",
            "````\n```\n",
            "```\n``` no\n",
            "~~~\n```\n",
        ] {
            assert!(after(open).is_code() && !after(open).is_start(0), "{open:?}");
        }
        for shut in [
            "```\n```\n",
            "```\nx\n  ````  \n",
            "> ```\n> ```\n",
            "~~~\n~~~\n",
            "a ```b``` c\n",
            "`x\n",
            "``x\n",
        ] {
            assert!(!after(shut).is_code() && after(shut).is_start(0), "{shut:?}");
        }
    }

    #[test]
    fn inline_code_is_code() {
        assert!(after("use `a").is_code() && after("use ``a`b").is_code());
        assert!(!after("use `a` ").is_code());
    }

    #[test]
    fn a_start_of_a_line_is_not_indented_far() {
        assert!(after("x\n   ").is_start(0) && after("x\n").is_start(3));
        assert!(!after("x\n    ").is_start(0) && !after("x\n\t").is_start(0) && !after("x\n").is_start(4));
        assert!(!after("x\n- ").is_start(0));
    }

    #[test]
    fn glued_means_no_space_and_no_quote() {
        assert!(after("Let me see.").is_glued() && after("好").is_glued());
        for text in ["", "see ", "see \"", "`x`", "(", "see:\n"] {
            assert!(!after(text).is_glued(), "{text:?}");
        }
    }
}
