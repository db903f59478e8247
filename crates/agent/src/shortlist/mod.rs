//! Which tools a model gets to see.
//!
//! Models choose worse among more than some dozens of tools, and each definition costs context. So before each call of
//! a model the best tools are picked: [`ToolIndex`] is built once for a frozen view, [`ToolIndex::search`] ranks, and
//! [`pick_tools`] makes the list. No model is asked, nothing leaves the process.
//!
//! | look for | in |
//! | --- | --- |
//! | what is known of a tool | [`ToolDocument`] |
//! | text to words, languages, stems | `words`, `language` |
//! | weights of words in fields (BM25F) | `index`, `postings` |
//! | names, apps and phrases said outright | `mention` |
//! | meaning beyond words, from a table of word vectors | [`vectors`] |
//! | the list itself | [`pick_tools`] |
//! | how good it is | [`eval`] |

mod document;
pub mod eval;
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

/// Most tools in one index. Later ones are left out of it and counted, see [`ToolIndex::left_out`].
pub const MAX_TOOLS: usize = 100_000;
/// Most text that is read of one tool, in bytes. The rest is not searched.
pub const MAX_TOOL_BYTES: usize = 32 * 1024;
/// Most different words of tools, tool by tool, that an index holds. Those of later tools are not searched.
pub const MAX_INDEX_WORDS: usize = 16 * 1024 * 1024;
/// Most parameters that are read of one tool.
pub const MAX_PARAMETERS: usize = 128;
/// Most activation phrases that are read of one tool.
pub const MAX_PHRASES: usize = 128;
/// Longest part of a question that is read, in bytes.
pub const MAX_QUERY_BYTES: usize = 4 * 1024;
/// Most different words of a question that count.
pub const MAX_QUERY_WORDS: usize = 256;
/// Most different words of all earlier texts that count.
pub const MAX_RECENT_WORDS: usize = 128;
/// Longest word, in bytes. The rest of it is not looked at.
pub const MAX_WORD_BYTES: usize = 64;

/// The beginning of a text, at most `bytes` long, cut between characters.
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
