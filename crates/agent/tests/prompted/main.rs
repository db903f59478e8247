//! Calling tools by text, through the front door: replies in, events out.

#![cfg(test)]

mod corpus;
mod false_calls;
mod hostile;
mod latency;
mod model;
