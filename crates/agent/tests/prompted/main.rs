//! Calling tools by text, through the public API: replies in, events out.

#![cfg(test)]

mod corpus;
mod false_calls;
mod hostile;
mod latency;
mod model;
