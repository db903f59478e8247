//! The list as text. It is shown on the glasses of users who have the app open, and otherwise returned to the assistant.

use toolyard_app_sdk::{ToolContext, ToolReply};

use crate::store::Todo;

/// Most todos in one text.
pub const MAX_LISTED: usize = 50;

/// The text for the glasses.
pub fn display_text(todos: &[Todo]) -> String {
    if todos.is_empty() { "Nothing to do".to_owned() } else { todo_lines(todos) }
}

/// One line per todo, up to a limit.
pub fn todo_lines(todos: &[Todo]) -> String {
    let mut lines: Vec<_> = todos.iter().take(MAX_LISTED).map(Todo::to_string).collect();
    if let Some(more) = todos.len().checked_sub(MAX_LISTED).filter(|more| *more > 0) {
        lines.push(format!("and {more} more"));
    }
    lines.join("\n")
}

/// Shows the todos if the user has the app open on glasses with a display; then the assistant need not speak.
pub async fn reply_with_list(cx: &ToolContext, said: String, todos: &[Todo]) -> ToolReply {
    let session =
        cx.session().filter(|session| session.capabilities().is_none_or(|glasses| glasses.has_display));
    match session {
        Some(session) if session.show_text_wall(display_text(todos)).await.is_ok() => {
            ToolReply::text(said).suppress_voice_response()
        }
        _ => said.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::TodoState;

    #[test]
    fn a_long_list_is_truncated() {
        let todo = |id| Todo { id, item: "milk".to_owned(), due: None, state: TodoState::Open };
        let todos: Vec<_> = (1..=MAX_LISTED as u32 + 2).map(todo).collect();
        assert!(todo_lines(&todos).ends_with("\n50. milk\nand 2 more"));
        assert_eq!(todo_lines(&todos[..MAX_LISTED]).lines().count(), MAX_LISTED);
        assert_eq!(display_text(&[]), "Nothing to do");
    }
}
