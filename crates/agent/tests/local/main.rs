//! A real model in this process: the same requests as to a server, and errors of files.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails with a panic")]

#[path = "../asking/mod.rs"]
mod asking;
mod calling;
mod errors;

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use toolyard_agent::{
    local::{LocalFile, LocalModel},
    model::{CallingMode, ModelError, ModelInfo},
    prompted::check::CountingIds,
};
use toolyard_testkit::demo_model::demo_model_file;

fn open(path: PathBuf, context: u32) -> Result<LocalModel, ModelError> {
    let info = ModelInfo { id: "smol/SmolLM2".to_owned(), calling: CallingMode::Small };
    LocalModel::new(info, LocalFile { path, threads: 1, context }, Arc::new(CountingIds::default()))
}

/// The model, loaded once for a test binary.
fn model() -> Arc<LocalModel> {
    static MODEL: OnceLock<Arc<LocalModel>> = OnceLock::new();
    MODEL.get_or_init(|| Arc::new(open(demo_model_file(), 4_096).unwrap())).clone()
}
