//! Grammars and scores, over HTTP.

use crate::{asking::grammars, support::scorer};

#[tokio::test]
async fn the_server_takes_every_grammar_and_the_model_keeps_to_it() {
    grammars::every_grammar_is_taken_and_kept_to(&*scorer()).await;
}

#[tokio::test]
async fn a_likely_continuation_scores_higher() {
    grammars::a_likely_continuation_scores_higher(&*scorer()).await;
}
