//! Measures how well tools are found and called, with sets of tools and questions in JSON Lines. The program for it is
//! `toolyard eval`.
//!
//! | look for | in |
//! | --- | --- |
//! | whether a model calls the right tool with the right arguments | [`calling`] |
//! | whether data can leak by a combination of calls | [`data_flow`] |
//! | whether the right tools are in the shortlist | [`retrieval`] |
//! | the files of a set, and their bounds | [`json_lines`] |
//! | the sets, and what was measured with them | `evals/tools`, `evals/retrieval`, `evals/data-flow` |

#![warn(missing_docs)]

pub mod calling;
pub mod data_flow;
pub mod json_lines;
pub mod retrieval;

use std::time::Duration;

use serde::Serializer;

/// Reports give times in seconds.
fn serialize_seconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}
