//! Word vectors for tests. They are too large for the repository.

use std::path::PathBuf;

const FOLDER_VARIABLE: &str = "TOOLYARD_WORD_VECTORS";

/// The folder with word vectors. If there is none, prints how to get it.
pub fn word_vectors_folder() -> Option<PathBuf> {
    let usual = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/word-vectors"));
    let folder = std::env::var_os(FOLDER_VARIABLE).map_or_else(usual, PathBuf::from);
    if !folder.join("model.safetensors").exists() {
        eprintln!(
            "skipped: no word vectors in {}. Take l2_supercat_256.safetensors and l2_supercat_tokenizer_config.json \
             out of the PyPI wheel wordllama 0.4.0.post1, and put them there as model.safetensors and \
             tokenizer.json, or name another folder by {FOLDER_VARIABLE}.",
            folder.display()
        );
        return None;
    }
    Some(folder)
}
