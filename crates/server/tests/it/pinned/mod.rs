//! Pinned definitions: what was accepted stays in use until someone accepts a change.
//!
//! | look for | in |
//! | --- | --- |
//! | an upstream that changes in every way, and requests about changes | [`world`] |
//! | every kind of change at every moment | [`kinds`] |
//! | accepting, rejecting, scopes, settings | [`answers`] |
//! | apps | [`apps`] |

mod answers;
mod apps;
mod kinds;
mod world;
