//! A Rust function as a tool. Both SDKs, the tools of a program (`core`) and the toolbox are built on this:
//!
//! | look for | in |
//! | --- | --- |
//! | the JSON Schema of a type | [`arguments_schema`], [`result_schema`] |
//! | arguments as a type | [`read_arguments`] |
//! | a function without its types | [`erase_typed`], [`erase_dynamic`] |

#![warn(missing_docs)]

mod arguments;
mod erase;
mod schema;

pub use arguments::{InvalidArguments, read_arguments};
pub use erase::{ErasedFunction, erase_dynamic, erase_typed};
pub use schema::{arguments_schema, result_schema};
