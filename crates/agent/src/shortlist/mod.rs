//! Chooses the tools that a model is offered.
//!
//! Models choose worse among more than a few dozen tools, and each definition costs context. So the best tools are
//! picked before each request: [`ToolIndex`] is built once for a frozen view, [`ToolIndex::search`] ranks, and
//! [`pick_tools`] makes the list. No model is asked, and nothing leaves the process.
//!
//! | look for | in |
//! | --- | --- |
//! | the text of a tool | [`ToolDocument`] |
//! | text to words, languages, stems | `words`, `language` |
//! | weights of words in fields (BM25F) | `index`, `postings` |
//! | mentions of names, apps and phrases | `mention` |
//! | meaning beyond words, from a table of word vectors | [`vectors`] |
//! | the list | [`pick_tools`] |

mod document;
mod index;
mod language;
mod mention;
mod pick;
mod postings;
mod search;
mod top;
pub mod vectors;
mod words;

pub use document::{ToolDocument, parameters_of, phrases_of};
pub use index::ToolIndex;
pub use mention::Mention;
pub use pick::{DEFAULT_LIMIT, pick_tools};
pub use search::{ScoreParts, ToolHit, ToolQuery};

/// Most tools in one index. Further ones are left out and counted, see [`ToolIndex::left_out`].
pub const MAX_TOOLS: usize = 100_000;
/// Most bytes of text that are indexed per tool.
pub const MAX_TOOL_BYTES: usize = 32 * 1024;
/// Most distinct words per tool, summed over all tools, in an index. Further words are not indexed.
pub const MAX_INDEX_WORDS: usize = 16 * 1024 * 1024;
/// Most parameters that are indexed per tool.
pub const MAX_PARAMETERS: usize = 128;
/// Most activation phrases that are indexed per tool.
pub const MAX_PHRASES: usize = 128;
/// Most bytes of a question that are read.
pub const MAX_QUERY_BYTES: usize = 4 * 1024;
/// Most distinct words of a question that count.
pub const MAX_QUERY_WORDS: usize = 256;
/// Most distinct words of all earlier texts that count.
pub const MAX_RECENT_WORDS: usize = 128;
/// Longest word, in bytes. The rest of it is ignored.
pub const MAX_WORD_BYTES: usize = 64;

/// The beginning of a text, at most `bytes` long, cut at a character boundary.
fn truncate_bytes(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

#[cfg(test)]
mod tests {
    use super::truncate_bytes;

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(truncate_bytes("aé", 2), "a");
        assert_eq!(truncate_bytes("aé", 3), "aé");
        assert_eq!(truncate_bytes("aé", 99), "aé");
    }
}
