//! The list as a resource, and a prompt that starts a conversation about it.

use std::{convert::Infallible, sync::Arc};

use schemars::JsonSchema;
use serde::Deserialize;
use toolyard_app_sdk::{
    InvalidItem, Prompt, PromptReply, Resource, ToolContext, create_prompt, create_resource,
};

use crate::{show::display_text, store::TodoStore};

/// Arguments of the prompt.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct PlanDay {
    /// Which day to plan; the default is today
    pub day: Option<String>,
}

/// The user's open todos, as text.
pub fn todo_list_resource(todos: &Arc<TodoStore>) -> Result<Resource, InvalidItem> {
    let todos = Arc::clone(todos);
    create_resource("todo://list", "todo-list", move |cx: ToolContext| {
        let text = display_text(&todos.open_todos(cx.user()));
        async move { Ok::<_, Infallible>(text) }
    })
    .title("To-do list")
    .description("The open to-do items, one per line, each with its ID")
    .mime_type("text/plain")
    .build()
}

/// Asks the assistant to make a plan for the open todos.
pub fn plan_day_prompt(todos: &Arc<TodoStore>) -> Result<Prompt, InvalidItem> {
    let todos = Arc::clone(todos);
    create_prompt("plan_day", "Plan a day around the to-do list", move |plan: PlanDay, cx: ToolContext| {
        let (day, list) =
            (plan.day.unwrap_or_else(|| "today".to_owned()), display_text(&todos.open_todos(cx.user())));
        let text = format!("Make a plan for {day}. This is on my to-do list:\n{list}");
        async move { Ok::<_, Infallible>(PromptReply::new().user(text).description("A plan for the day")) }
    })
    .title("Plan my day")
    .build()
}
