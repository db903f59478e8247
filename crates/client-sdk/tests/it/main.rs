//! The client as programs use it: against a real server with a scripted model and, for faults that the server does not produce,
//! over a scripted wire.

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
