//! The sets of `evals/tools`, over HTTP.

use crate::{
    asking::sets::{measured, suite},
    support::scorer,
};

#[test]
fn the_sets_can_be_read() {
    assert_eq!((suite("").len(), suite("three-").len()), (60, 30));
}

#[tokio::test]
#[ignore = "takes minutes; make test-local runs it"]
async fn a_small_model_is_as_good_as_it_was_with_eight_tools() {
    let (tool, arguments) = measured("", scorer()).await;
    assert!(tool >= 36 && arguments >= 31, "{tool} right tools and {arguments} right arguments of 60");
}

#[tokio::test]
#[ignore = "takes minutes; make test-local runs it"]
async fn a_small_model_is_as_good_as_it_was_with_three_tools() {
    let (tool, arguments) = measured("three-", scorer()).await;
    assert!(tool >= 25 && arguments >= 20, "{tool} right tools and {arguments} right arguments of 30");
}
