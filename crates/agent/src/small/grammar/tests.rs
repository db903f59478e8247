//! A GBNF reader for tests: it matches texts against a grammar, and generates texts that the grammar allows.

mod gbnf;
mod hostile;
mod schemas;
