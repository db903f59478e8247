//! The sample app of the guide: a to-do list that an assistant can read and change.
//!
//! Read it to see how an app is written: [`store`] is the app's own logic and knows nothing about tools, [`tools`] are typed
//! functions, [`items`] are the prompt and the resource, and [`add_to`] puts them together. Users who have the app open see
//! the list on their glasses; others get a text that the assistant can speak.

#![warn(missing_docs)]

pub mod items;
pub mod show;
pub mod store;
pub mod tools;

use std::sync::Arc;

use toolyard_app_sdk::{AppServerBuilder, InvalidItem, InvalidTool};

use crate::{show::display_text, store::TodoStore};

/// Why the app cannot be built. Never happens in practice: the tests build all of it.
#[derive(Debug, thiserror::Error)]
pub enum TodoSetupError {
    /// A tool.
    #[error(transparent)]
    Tool(#[from] InvalidTool),
    /// The prompt or the resource.
    #[error(transparent)]
    Item(#[from] InvalidItem),
}

/// Adds the to-do list to an app server.
pub fn add_to(builder: AppServerBuilder) -> Result<AppServerBuilder, TodoSetupError> {
    let todos = Arc::new(TodoStore::default());
    let tools = tools::todo_tools(&todos)?;
    let builder = tools.into_iter().fold(builder, AppServerBuilder::register_tool);
    let builder =
        builder.resource(items::todo_list_resource(&todos)?).prompt(items::plan_day_prompt(&todos)?);
    Ok(builder.on_session(move |session| {
        let open = todos.open_todos(session.user());
        async move { session.show_text_wall(display_text(&open)).await }
    }))
}
