//! The five tools.

use std::{convert::Infallible, future::Future, sync::Arc};

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::Deserialize;
use toolyard_app_sdk::{Category, InvalidTool, Tool, ToolBuilder, ToolContext, ToolReply, create_tool};

use crate::{
    show::{reply_with_list, todo_lines},
    store::{Todo, TodoError, TodoState, TodoStore},
};

/// What to add.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(description = "What to add.")]
pub struct AddTodo {
    /// The to-do item text
    #[schemars(length(min = 1, max = 500))]
    pub todo_item: String,
    /// Due date in ISO format (YYYY-MM-DD)
    #[schemars(with = "Option<String>", extend("format" = "date"))]
    pub due_date: Option<Date>,
}

/// Which todos to get.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(description = "Which todos to get.")]
pub struct GetTodos {
    /// Whether to include completed items
    #[serde(default)]
    pub include_completed: bool,
}

/// Which todo is meant.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(description = "Which todo is meant.")]
pub struct OneTodo {
    /// ID of the to-do item: the number in front of it, as get_todos lists it
    pub todo_id: String,
}

/// Every tool of the app.
pub fn todo_tools(todos: &Arc<TodoStore>) -> Result<Vec<Tool>, InvalidTool> {
    let tools = [
        todo_tool(todos, "add_todo", "Add a new to-do item", add_todo)
            .title("Add a todo")
            .activation_phrases(["add a reminder", "create a todo", "remind me to"])
            .additive(),
        todo_tool(todos, "get_todos", "Get all to-do items with their IDs", get_todos)
            .title("Get the todos")
            .activation_phrases(["show my todos", "list my reminders"])
            .read_only(),
        todo_tool(todos, "mark_todo_complete", "Mark a to-do item as complete", complete_todo)
            .title("Complete a todo")
            .activation_phrases(["I have done", "check off"])
            .additive()
            .idempotent(),
        todo_tool(todos, "mark_todo_incomplete", "Mark a to-do item as not complete", reopen_todo)
            .title("Reopen a todo")
            .activation_phrases(["I have not done", "uncheck"])
            .additive()
            .idempotent(),
        todo_tool(todos, "delete_todo", "Delete a to-do item for good", delete_todo)
            .title("Delete a todo")
            .activation_phrases(["delete the todo", "remove the reminder"])
            .destructive(),
    ];
    tools.into_iter().map(|tool| tool.category(Category::Productivity).build()).collect()
}

/// A tool whose handler gets the todos. A refusal of the list is a result for the user, not an error of the app.
fn todo_tool<A, F, Fut>(todos: &Arc<TodoStore>, name: &str, description: &str, handler: F) -> ToolBuilder
where
    A: serde::de::DeserializeOwned + JsonSchema + Send + 'static,
    F: Fn(Arc<TodoStore>, A, ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<ToolReply, TodoError>> + Send + 'static,
{
    let todos = Arc::clone(todos);
    create_tool(name, description, move |args: A, cx: ToolContext| {
        let running = handler(Arc::clone(&todos), args, cx);
        async move {
            let reply = running.await.unwrap_or_else(|error| ToolReply::failed(error.to_string()));
            Ok::<_, Infallible>(reply)
        }
    })
}

async fn add_todo(todos: Arc<TodoStore>, args: AddTodo, cx: ToolContext) -> Result<ToolReply, TodoError> {
    let todo = todos.add(cx.user(), &args.todo_item, args.due_date)?;
    reply_with_open(&todos, &cx, format!("Added to your list: {todo}")).await
}

async fn get_todos(todos: Arc<TodoStore>, args: GetTodos, cx: ToolContext) -> Result<ToolReply, TodoError> {
    let listed: Vec<Todo> =
        if args.include_completed { todos.all_todos(cx.user()) } else { todos.open_todos(cx.user()) };
    let said = match listed.as_slice() {
        [] => "There are no todos on your list.".to_owned(),
        listed => format!("Your todos:\n{}", todo_lines(listed)),
    };
    Ok(reply_with_list(&cx, said, &listed).await)
}

async fn complete_todo(
    todos: Arc<TodoStore>,
    args: OneTodo,
    cx: ToolContext,
) -> Result<ToolReply, TodoError> {
    let todo = todos.set_state(cx.user(), &args.todo_id, TodoState::Done)?;
    reply_with_open(&todos, &cx, format!("Marked as complete: {}", todo.item)).await
}

async fn reopen_todo(todos: Arc<TodoStore>, args: OneTodo, cx: ToolContext) -> Result<ToolReply, TodoError> {
    let todo = todos.set_state(cx.user(), &args.todo_id, TodoState::Open)?;
    reply_with_open(&todos, &cx, format!("Marked as not complete: {}", todo.item)).await
}

async fn delete_todo(todos: Arc<TodoStore>, args: OneTodo, cx: ToolContext) -> Result<ToolReply, TodoError> {
    let todo = todos.delete(cx.user(), &args.todo_id)?;
    reply_with_open(&todos, &cx, format!("Deleted from your list: {}", todo.item)).await
}

async fn reply_with_open(todos: &TodoStore, cx: &ToolContext, said: String) -> Result<ToolReply, TodoError> {
    Ok(reply_with_list(cx, said, &todos.open_todos(cx.user())).await)
}
