//! A place in a document and what is wrong there. Parsers collect all problems instead of stopping at the first.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One problem in a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Problem {
    /// Where: `tools[2].inputSchema.type`.
    pub path: String,
    /// What is wrong and what was expected.
    pub message: String,
}

impl Problem {
    /// A problem at a path.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}
