//! The sets of `evals/tools`, in this process.

use crate::{asking::sets::measured, model};

#[tokio::test]
#[ignore = "takes minutes; make test-local runs it"]
async fn a_small_model_is_as_good_as_it_was_with_eight_tools() {
    let (tool, arguments) = measured("", model()).await;
    assert!(tool >= 36 && arguments >= 31, "{tool} right tools and {arguments} right arguments of 60");
}

#[tokio::test]
#[ignore = "takes minutes; make test-local runs it"]
async fn a_small_model_is_as_good_as_it_was_with_three_tools() {
    let (tool, arguments) = measured("three-", model()).await;
    assert!(tool >= 27 && arguments >= 22, "{tool} right tools and {arguments} right arguments of 30");
}
