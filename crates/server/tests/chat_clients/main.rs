//! Chat clients as other people wrote them, unmodified, against the real server: the AI SDK from version 4 on, and OpenAI's
//! SDK for JavaScript and Python. The programs are in `tests/chat-clients`; whatever their libraries do on the wire, they do here.
//!
//! The AI SDK is here twice per version: the newest release, and one of those that refuse every key they do not know.
#![cfg(test)]

mod ai_sdk;
mod openai;
mod openai_python;
mod program;
mod stage;
