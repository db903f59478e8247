//! Apps: registering, changing and removing them, their tools in versions, and their keys.

mod change;
mod details;
mod find;
mod publish_tools;
mod register;
mod remove;
mod rotate_key;
mod tool_set;

pub use self::{
    change::{AppUpdate, change},
    find::{find_owned, list_owned},
    publish_tools::{activate_tools, publish_tools},
    register::{RegisteredApp, register},
    remove::remove,
    rotate_key::{rotate_key, rotate_secret},
};
