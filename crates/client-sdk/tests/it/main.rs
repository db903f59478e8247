//! The client as programs use it: against a real server with a model that says what it was told to say, and where that would
//! not misbehave enough, over a wire that does.

#![cfg(test)]

mod guide;
mod hooks;
mod leaving;
mod limits;
mod manager;
mod over;
mod register;
mod requests;
mod rounds;
mod stage;
mod traces;
mod wires;
