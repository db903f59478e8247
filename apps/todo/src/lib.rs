//! The sample app of the guide: a to-do list that an assistant can read and change.
//!
//! Read it to see how an app is written: [`store`] is the app's own business and knows nothing of tools, [`tools`] are
//! typed functions, and [`add_to`] puts them together. Whoever has the app open sees the list on the glasses; everybody
//! else gets a text that the assistant can speak.

#![warn(missing_docs)]

pub mod show;
pub mod store;
pub mod tools;

use std::sync::Arc;

use toolyard_app_sdk::{AppServerBuilder, InvalidTool};

use crate::{show::shown, store::Todos};

/// Adds the to-do list to an app in the making.
pub fn add_to(builder: AppServerBuilder) -> Result<AppServerBuilder, InvalidTool> {
    let todos = Arc::new(Todos::default());
    let tools = tools::all(&todos)?;
    let builder = tools.into_iter().fold(builder, AppServerBuilder::register_tool);
    Ok(builder.on_session(move |session| {
        let open = todos.open(session.user());
        async move { session.show_text_wall(shown(&open)).await }
    }))
}
