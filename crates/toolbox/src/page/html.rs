//! Converts HTML to text, in one pass over the tokens of `html5ever`.
//!
//! No tree is built. A tree of hostile HTML is as deep as the page is long, and any code that walks it (crates that
//! render text included) could recurse too deeply or lay out deeply nested tables. Text needs little of the tree:
//! where lines end, what is not text, and where links begin.

use std::cell::RefCell;
use std::collections::HashSet;

use html5ever::TokenizerResult;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use url::Url;

use super::{MAX_LINKS, PageLink, TextPage};
use crate::text::one_line;

/// Bytes between two checks of the time. The tokenizer compares each attribute of a tag with all previous ones, so a
/// tag as long as the page takes minutes.
const PIECE_BYTES: usize = 4 * 1024;

/// Longest text that is read without checking the time.
const MAX_PLAIN_BYTES: usize = 16 * 1024;

/// Most links that are kept; those beyond the shown ones are only counted.
const MAX_KEPT_LINKS: usize = MAX_LINKS * 50;

/// Converts a page to text; `None` if the time is over.
pub(super) fn html_to_page(html: &str, base: &Url, is_over: &(dyn Fn() -> bool + Sync)) -> Option<TextPage> {
    let writer = tokenize_html(html, Some(base), is_over)?;
    Some(TextPage {
        title: writer.title.filter(|title| !title.trim().is_empty()),
        text: writer.out,
        links: writer.links,
    })
}

/// Converts a short text with tags and entities to one line.
pub(crate) fn html_to_line(html: &str) -> String {
    let html = &html[..html.floor_char_boundary(MAX_PLAIN_BYTES)];
    tokenize_html(html, None, &|| false).map_or_else(String::new, |writer| one_line(&writer.out))
}

fn tokenize_html(html: &str, base: Option<&Url>, is_over: &(dyn Fn() -> bool + Sync)) -> Option<TextWriter> {
    let sink = TextSink(RefCell::new(TextWriter { base: base.cloned(), ..TextWriter::default() }));
    let tokenizer = Tokenizer::new(sink, TokenizerOpts::default());
    let queue = BufferQueue::default();
    let mut rest = html;
    while !rest.is_empty() {
        if is_over() {
            return None;
        }
        let mut end = rest.len().min(PIECE_BYTES);
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        queue.push_back(StrTendril::from_slice(&rest[..end]));
        rest = &rest[end..];
        // It stops early only if the sink requests it.
        while !matches!(tokenizer.feed(&queue), TokenizerResult::Done) {}
    }
    tokenizer.end();
    Some(tokenizer.sink.0.into_inner())
}

struct TextSink(RefCell<TextWriter>);

impl TokenSink for TextSink {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut writer = self.0.borrow_mut();
        match token {
            Token::CharacterTokens(text) => writer.push_text(&text),
            Token::TagToken(tag) if tag.kind == TagKind::StartTag => {
                writer.start_tag(&tag);
                return raw_text_state(&tag.name);
            }
            Token::TagToken(tag) => writer.end_tag(&tag.name),
            Token::DoctypeToken(_)
            | Token::CommentToken(_)
            | Token::NullCharacterToken
            | Token::EOFToken
            | Token::ParseError(_) => {}
        }
        TokenSinkResult::Continue
    }
}

/// Inside these elements a `<` can only start their end tag; a tree builder would tell the tokenizer.
fn raw_text_state(name: &str) -> TokenSinkResult<()> {
    match name {
        "script" => TokenSinkResult::RawData(RawKind::ScriptData),
        "style" | "xmp" | "iframe" | "noembed" | "noframes" => TokenSinkResult::RawData(RawKind::Rawtext),
        "title" | "textarea" => TokenSinkResult::RawData(RawKind::Rcdata),
        "plaintext" => TokenSinkResult::Plaintext,
        _ => TokenSinkResult::Continue,
    }
}

/// Elements whose content is not text for a reader.
fn is_hidden(name: &str) -> bool {
    matches!(
        name,
        "script"
            | "style"
            | "iframe"
            | "noembed"
            | "noframes"
            | "textarea"
            | "template"
            | "svg"
            | "object"
            | "canvas"
    )
}

/// Line breaks before and after an element; 0 for inline elements.
fn lines_around(name: &str) -> usize {
    match name {
        "p" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "ul" | "ol" | "dl" | "table" | "blockquote"
        | "pre" | "section" | "article" | "header" | "footer" | "main" | "nav" | "aside" | "figure"
        | "form" | "fieldset" | "hr" | "details" | "body" => 2,
        "div" | "li" | "tr" | "dt" | "dd" | "br" | "figcaption" | "caption" | "address" | "summary"
        | "option" | "legend" => 1,
        _ => 0,
    }
}

/// Writes the text as the tokens arrive.
#[derive(Default)]
struct TextWriter {
    base: Option<Url>,
    out: String,
    title: Option<String>,
    links: Vec<PageLink>,
    seen: HashSet<String>,
    /// The open hidden element, and how many of its name are open.
    hidden: Option<(String, usize)>,
    in_title: bool,
    /// Open `<pre>` elements; their spaces and line breaks are kept.
    preformatted: usize,
    /// Pending line breaks before the next word.
    due_lines: usize,
    due_space: bool,
    /// Prefix of the next word: the mark of a heading or a list item.
    due_mark: &'static str,
    /// Whether this row already has a cell.
    in_row: bool,
    /// The open link, and its text so far.
    link: Option<(String, String)>,
}

impl TextWriter {
    fn start_tag(&mut self, tag: &Tag) {
        let name: &str = &tag.name;
        match &mut self.hidden {
            Some((hidden, depth)) if hidden == name && !tag.self_closing => *depth += 1,
            Some(_) => {}
            // `<svg/>` has no end tag; in HTML the others cannot be self-closing.
            None if is_hidden(name) && !(name == "svg" && tag.self_closing) => {
                self.hidden = Some((name.to_owned(), 1));
            }
            None => self.open_element(name, tag),
        }
    }

    fn open_element(&mut self, name: &str, tag: &Tag) {
        self.break_lines(if name == "br" { self.due_lines + 1 } else { lines_around(name) });
        match name {
            "title" => self.in_title = self.title.is_none(),
            "pre" => self.preformatted += 1,
            "li" => self.due_mark = "- ",
            "h1" => self.due_mark = "# ",
            "h2" => self.due_mark = "## ",
            "h3" => self.due_mark = "### ",
            "h4" | "h5" | "h6" => self.due_mark = "#### ",
            "tr" => self.in_row = false,
            "td" | "th" => {
                if self.in_row {
                    self.push_word(" |");
                    self.due_space = true;
                }
                self.in_row = true;
            }
            "a" => self.open_link(tag),
            "img" => {
                if let Some(alt) = tag_attribute(tag, "alt").filter(|alt| !alt.trim().is_empty()) {
                    let text = format!("[image: {}]", one_line(alt));
                    self.push_text(&text);
                }
            }
            _ => {}
        }
    }

    fn end_tag(&mut self, name: &str) {
        if let Some((hidden, depth)) = &mut self.hidden {
            if hidden == name {
                *depth -= 1;
                if *depth == 0 {
                    self.hidden = None;
                }
            }
            return;
        }
        self.break_lines(lines_around(name));
        match name {
            "title" => self.in_title = false,
            "pre" => self.preformatted = self.preformatted.saturating_sub(1),
            "li" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.due_mark = "",
            "tr" | "table" => self.in_row = false,
            "a" => self.close_link(),
            _ => {}
        }
    }

    fn open_link(&mut self, tag: &Tag) {
        self.close_link();
        let to = tag_attribute(tag, "href")
            .zip(self.base.as_ref())
            .and_then(|(href, base)| base.join(href.trim()).ok());
        self.link = to.filter(|to| matches!(to.scheme(), "http" | "https")).map(|mut to| {
            to.set_fragment(None);
            (to.to_string(), String::new())
        });
    }

    fn close_link(&mut self) {
        let Some((url, text)) = self.link.take() else { return };
        let text = one_line(&text);
        if !text.is_empty() && self.links.len() < MAX_KEPT_LINKS && self.seen.insert(url.clone()) {
            self.links.push(PageLink { text, url });
        }
    }

    fn push_text(&mut self, text: &str) {
        if self.hidden.is_some() {
            return;
        }
        if self.in_title {
            self.title.get_or_insert_default().push_str(text);
            return;
        }
        if let Some((_, link)) = &mut self.link {
            link.push_str(text);
        }
        if self.preformatted > 0 {
            self.preformatted_text(text);
            return;
        }
        let mut words = text.split(is_space).peekable();
        while let Some(word) = words.next() {
            self.push_word(word);
            // A split between two words, or one at the end of the text.
            self.due_space |= words.peek().is_some();
        }
    }

    fn preformatted_text(&mut self, text: &str) {
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 {
                self.due_lines += 1;
                self.due_space = false;
            }
            let line = line.trim_end_matches('\r');
            if line.trim().is_empty() {
                continue;
            }
            self.push_word(line);
        }
    }

    /// Writes a word, after the pending breaks.
    fn push_word(&mut self, word: &str) {
        if word.is_empty() {
            return;
        }
        if !self.out.is_empty() {
            let lines = self.due_lines.min(if self.preformatted > 0 { usize::MAX } else { 2 });
            self.out.extend(std::iter::repeat_n('\n', lines));
            if lines == 0 && self.due_space {
                self.out.push(' ');
            }
        }
        self.due_lines = 0;
        self.due_space = false;
        self.out.push_str(std::mem::take(&mut self.due_mark));
        self.out.extend(word.chars().filter(|c| !c.is_control() || *c == '\t'));
    }

    fn break_lines(&mut self, lines: usize) {
        self.due_lines = self.due_lines.max(lines);
    }
}

/// White space of HTML, and the no-break space.
fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0c' | '\u{a0}')
}

fn tag_attribute<'a>(tag: &'a Tag, name: &str) -> Option<&'a str> {
    tag.attrs.iter().find(|attribute| &*attribute.name.local == name).map(|attribute| &*attribute.value)
}

#[cfg(test)]
mod tests;
