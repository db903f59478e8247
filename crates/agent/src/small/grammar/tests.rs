//! A reader of GBNF of our own: it matches texts against a grammar, and writes texts that the grammar allows.

mod gbnf;
mod hostile;
mod schemas;
