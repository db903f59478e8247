//! The sets of `evals/tools` on the real model.

use std::{fs::File, io::BufReader, path::Path, sync::Arc};

use toolyard_agent::small::{
    Scorer,
    eval::{PromptSuite, measure_calling},
};

use super::small;

pub(crate) fn suite(set: &str) -> PromptSuite {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../evals/tools");
    let open = |name: &str| BufReader::new(File::open(folder.join(format!("{set}{name}.jsonl"))).unwrap());
    PromptSuite::read(open("tools"), open("prompts")).unwrap()
}

/// Number of expected tools and of expected arguments. Every response is well-formed.
pub(crate) async fn measured(set: &str, scorer: Arc<dyn Scorer>) -> (usize, usize) {
    let model = small(scorer);
    let suite = suite(set);
    let start = tokio::time::Instant::now();
    let report = measure_calling(&model, &suite, || start.elapsed()).await.unwrap();
    eprintln!("{report}");
    assert_eq!(report.all.well_formed, suite.len());
    (report.all.tool, report.all.arguments)
}
