//! The set of `evals/tools` on the real model.

use std::{fs::File, io::BufReader, path::Path, sync::Arc};

use toolyard_agent::{
    prompted::check::CountingIds,
    small::{
        SmallModel,
        eval::{Suite, measure},
    },
};

use crate::support::scorer;

fn suite(set: &str) -> Suite {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../evals/tools");
    let open = |name: &str| BufReader::new(File::open(folder.join(format!("{set}{name}.jsonl"))).unwrap());
    Suite::read(open("tools"), open("prompts")).unwrap()
}

/// Right tools and right arguments; every answer is well-formed.
async fn measured(set: &str) -> (usize, usize) {
    let model = SmallModel::new(scorer(), "demo/smollm2", Arc::new(CountingIds::default()));
    let suite = suite(set);
    let start = tokio::time::Instant::now();
    let report = measure(&model, &suite, || start.elapsed()).await.unwrap();
    eprintln!("{report}");
    assert_eq!(report.all.well_formed, suite.len());
    (report.all.tool, report.all.arguments)
}

#[test]
fn the_sets_can_be_read() {
    assert_eq!((suite("").len(), suite("three-").len()), (60, 30));
}

#[tokio::test]
#[ignore = "takes minutes; make test-local runs it"]
async fn a_small_model_is_as_good_as_it_was_with_eight_tools() {
    let (tool, arguments) = measured("").await;
    assert!(tool >= 36 && arguments >= 31, "{tool} right tools and {arguments} right arguments of 60");
}

#[tokio::test]
#[ignore = "takes minutes; make test-local runs it"]
async fn a_small_model_is_as_good_as_it_was_with_three_tools() {
    let (tool, arguments) = measured("three-").await;
    assert!(tool >= 25 && arguments >= 20, "{tool} right tools and {arguments} right arguments of 30");
}
