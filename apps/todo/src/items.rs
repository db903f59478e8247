//! The list as something to read, and a prompt that begins a conversation about it.

use std::{convert::Infallible, sync::Arc};

use schemars::JsonSchema;
use serde::Deserialize;
use toolyard_app_sdk::{
    InvalidItem, Prompt, PromptReply, Resource, ToolContext, create_prompt, create_resource,
};

use crate::{show::display_text, store::TodoStore};

/// How to plan.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct PlanDay {
    /// Which day to plan; today where nothing is said
    pub day: Option<String>,
}

/// What the user has to do, as a text.
pub fn todo_list_resource(todos: &Arc<TodoStore>) -> Result<Resource, InvalidItem> {
    let todos = Arc::clone(todos);
    create_resource("todo://list", "todo-list", move |cx: ToolContext| {
        let text = display_text(&todos.open_todos(cx.user()));
        async move { Ok::<_, Infallible>(text) }
    })
    .title("To-do list")
    .description("What is still to be done, one item a line, each with its ID")
    .mime_type("text/plain")
    .build()
}

/// Lets the assistant make a plan of what is to be done.
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
