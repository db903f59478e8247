//! The sets of `evals/tools` on the demonstration model. It takes minutes, so `make test-local` runs it.

#![cfg(test)]

use std::{path::Path, sync::Arc};

use toolyard_agent::{
    prompted::check::CountingIds,
    small::{Scorer, SmallModel},
};
use toolyard_evals::calling::{PromptSuite, measure_calling};

fn suite(set: &str) -> PromptSuite {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tools");
    let read = |name: &str| std::fs::read(folder.join(format!("{set}{name}.jsonl"))).unwrap();
    PromptSuite::read(&*read("tools"), &*read("prompts")).unwrap()
}

/// Number of right tools and of right arguments. Every response is well-formed.
async fn measure(set: &str, scorer: Arc<dyn Scorer>) -> (usize, usize) {
    let model = SmallModel::new(scorer, "demo/smollm2", Arc::new(CountingIds::default()));
    let suite = suite(set);
    let start = tokio::time::Instant::now();
    let report = measure_calling(&model, &suite, || start.elapsed()).await.unwrap();
    eprintln!("{report}");
    assert_eq!(report.all.well_formed, suite.len());
    (report.all.tool, report.all.arguments)
}

#[test]
fn the_sets_can_be_read() {
    assert_eq!((suite("").len(), suite("three-").len()), (60, 30));
}

mod over_http {
    use std::time::Duration;

    use toolyard_agent::{model::RequestPolicy, small::llama_server::LlamaServer};
    use toolyard_testkit::demo_model::demo_server_url;

    use super::*;

    fn scorer() -> Arc<LlamaServer> {
        let bounds = RequestPolicy { first_byte: Duration::from_secs(120), ..RequestPolicy::default() };
        Arc::new(LlamaServer::new("demo/smollm2", &demo_server_url(), None, bounds).unwrap())
    }

    #[tokio::test]
    #[ignore = "takes minutes; make test-local runs it"]
    async fn a_small_model_is_as_good_as_it_was_with_eight_tools() {
        let (tool, arguments) = measure("", scorer()).await;
        assert!(tool >= 36 && arguments >= 31, "{tool} right tools and {arguments} right arguments of 60");
    }

    #[tokio::test]
    #[ignore = "takes minutes; make test-local runs it"]
    async fn a_small_model_is_as_good_as_it_was_with_three_tools() {
        let (tool, arguments) = measure("three-", scorer()).await;
        assert!(tool >= 25 && arguments >= 20, "{tool} right tools and {arguments} right arguments of 30");
    }
}

#[cfg(feature = "local")]
mod in_process {
    use toolyard_agent::{
        local::{LocalFile, LocalModel},
        model::{CallingMode, ModelInfo},
    };
    use toolyard_testkit::demo_model::demo_model_file;

    use super::*;

    fn scorer() -> Arc<LocalModel> {
        let info = ModelInfo { id: "demo/smollm2".to_owned(), calling: CallingMode::Small };
        let file = LocalFile { path: demo_model_file(), threads: 1, context: 4_096 };
        Arc::new(LocalModel::new(info, file, Arc::new(CountingIds::default())).unwrap())
    }

    #[tokio::test]
    #[ignore = "takes minutes; make test-local runs it"]
    async fn a_small_model_is_as_good_as_it_was_with_eight_tools() {
        let (tool, arguments) = measure("", scorer()).await;
        assert!(tool >= 36 && arguments >= 31, "{tool} right tools and {arguments} right arguments of 60");
    }

    #[tokio::test]
    #[ignore = "takes minutes; make test-local runs it"]
    async fn a_small_model_is_as_good_as_it_was_with_three_tools() {
        let (tool, arguments) = measure("three-", scorer()).await;
        assert!(tool >= 27 && arguments >= 22, "{tool} right tools and {arguments} right arguments of 30");
    }
}
