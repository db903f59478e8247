//! A real model in this process: the same requests as to a server, and errors of files.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails with a panic")]

#[path = "../asking/mod.rs"]
mod asking;
mod calling;
mod errors;
mod evaluation;

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use toolyard_agent::{
    local::{LocalFile, LocalModel},
    model::{CallingMode, ModelError, ModelInfo},
    prompted::check::CountingIds,
};

fn open(path: PathBuf, context: u32) -> Result<LocalModel, ModelError> {
    let info = ModelInfo { id: "smol/SmolLM2".to_owned(), calling: CallingMode::Small };
    LocalModel::new(info, LocalFile { path, threads: 1, context }, Arc::new(CountingIds::default()))
}

fn file() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/demo-model");
    folder.join("SmolLM2-135M-Instruct.Q4_1.gguf")
}

/// The model, loaded once for a test binary.
fn model() -> Arc<LocalModel> {
    static MODEL: OnceLock<Arc<LocalModel>> = OnceLock::new();
    let model = || {
        open(file(), 4_096)
            .map(Arc::new)
            .unwrap_or_else(|error| panic!("{error}; run scripts/demo-model.sh fetch"))
    };
    MODEL.get_or_init(model).clone()
}
