//! The todos of all users, in memory: they are lost when the app stops.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
};

use jiff::civil::Date;
use parking_lot::{Mutex, MutexGuard};
use toolyard_app_sdk::UserId;

/// Most todos of one user.
pub const MAX_TODOS: usize = 1_000;
/// Most users.
pub const MAX_USERS: usize = 10_000;
/// Longest todo, in bytes.
pub const MAX_ITEM_BYTES: usize = 500;

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Todo {
    /// A short number that people can say; never reused for the same user.
    pub id: u32,
    /// What to do.
    pub item: String,
    /// The due date.
    pub due: Option<Date>,
    /// Whether it is done.
    pub state: TodoState,
}

/// Whether a todo is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TodoState {
    /// Not yet.
    Open,
    /// Yes.
    Done,
}

impl fmt::Display for Todo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}. {}", self.id, self.item)?;
        if let Some(due) = self.due {
            write!(f, " (due {due})")?;
        }
        match self.state {
            TodoState::Open => Ok(()),
            TodoState::Done => f.write_str(" (done)"),
        }
    }
}

/// Why a change to the list was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TodoError {
    /// The text is empty.
    #[error("A todo needs a text.")]
    Empty,
    /// The text is too long.
    #[error("This todo is too long: {0} bytes; at most {MAX_ITEM_BYTES} are allowed.")]
    TooLong(usize),
    /// Too many todos.
    #[error("The list is full: at most {MAX_TODOS} todos are allowed. Delete some of them first.")]
    Full,
    /// Too many users.
    #[error("This app has reached its maximum number of users.")]
    TooManyUsers,
    /// No such todo.
    #[error("There is no todo {0} on the list. Get the todos to see their IDs.")]
    NotFound(String),
}

/// The todos of all users.
#[derive(Debug, Default)]
pub struct TodoStore(Mutex<HashMap<UserId, TodoList>>);

#[derive(Debug, Default)]
struct TodoList {
    todos: BTreeMap<u32, Todo>,
    last: u32,
}

impl TodoStore {
    /// Adds a todo.
    pub fn add(&self, user: &UserId, item: &str, due: Option<Date>) -> Result<Todo, TodoError> {
        let item = item.trim();
        if item.is_empty() {
            return Err(TodoError::Empty);
        }
        if item.len() > MAX_ITEM_BYTES {
            return Err(TodoError::TooLong(item.len()));
        }
        let mut lists = self.lock_lists();
        if lists.len() >= MAX_USERS && !lists.contains_key(user) {
            return Err(TodoError::TooManyUsers);
        }
        let list = lists.entry(user.clone()).or_default();
        if list.todos.len() >= MAX_TODOS {
            return Err(TodoError::Full);
        }
        list.last += 1;
        let todo = Todo { id: list.last, item: item.to_owned(), due, state: TodoState::Open };
        list.todos.insert(todo.id, todo.clone());
        Ok(todo)
    }

    /// Every todo of a user, the oldest first.
    pub fn all_todos(&self, user: &UserId) -> Vec<Todo> {
        self.lock_lists().get(user).map(|list| list.todos.values().cloned().collect()).unwrap_or_default()
    }

    /// The open todos of a user.
    pub fn open_todos(&self, user: &UserId) -> Vec<Todo> {
        let mut todos = self.all_todos(user);
        todos.retain(|todo| todo.state == TodoState::Open);
        todos
    }

    /// Marks a todo as done or open.
    pub fn set_state(&self, user: &UserId, id: &str, state: TodoState) -> Result<Todo, TodoError> {
        self.change_todo(user, id, |list, number| {
            let todo = list.todos.get_mut(&number)?;
            todo.state = state;
            Some(todo.clone())
        })
    }

    /// Deletes a todo.
    pub fn delete(&self, user: &UserId, id: &str) -> Result<Todo, TodoError> {
        self.change_todo(user, id, |list, number| list.todos.remove(&number))
    }

    fn change_todo(
        &self,
        user: &UserId,
        id: &str,
        change: impl FnOnce(&mut TodoList, u32) -> Option<Todo>,
    ) -> Result<Todo, TodoError> {
        let number = id.trim().parse().ok();
        let mut lists = self.lock_lists();
        let changed = lists.get_mut(user).zip(number).and_then(|(list, number)| change(list, number));
        changed.ok_or_else(|| TodoError::NotFound(id.chars().take(20).collect()))
    }

    fn lock_lists(&self) -> MutexGuard<'_, HashMap<UserId, TodoList>> {
        self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(name: &str) -> UserId {
        name.parse().unwrap()
    }

    #[test]
    fn ids_are_short_and_never_given_twice() {
        let (todos, ada) = (TodoStore::default(), user("ada"));
        todos.add(&ada, " milk ", None).unwrap();
        todos.delete(&ada, "1").unwrap();
        let bread = todos.add(&ada, "bread", Some("2026-01-02".parse().unwrap())).unwrap();
        assert_eq!(bread.to_string(), "2. bread (due 2026-01-02)");
        assert_eq!(todos.add(&user("bob"), "tea", None).unwrap().to_string(), "1. tea");
    }

    #[test]
    fn done_and_not_done() {
        let (todos, ada) = (TodoStore::default(), user("ada"));
        todos.add(&ada, "milk", None).unwrap();
        assert_eq!(todos.set_state(&ada, "1", TodoState::Done).unwrap().to_string(), "1. milk (done)");
        assert!(todos.open_todos(&ada).is_empty());
        todos.set_state(&ada, " 1 ", TodoState::Open).unwrap();
        assert_eq!(todos.open_todos(&ada).len(), 1);
        for id in ["2", "x", "-1", "", "99999999999999999999999"] {
            assert!(
                matches!(todos.set_state(&ada, id, TodoState::Done), Err(TodoError::NotFound(_))),
                "{id}"
            );
        }
        assert!(todos.delete(&user("bob"), "1").is_err());
    }

    #[test]
    fn every_limit_is_enforced() {
        let (todos, ada) = (TodoStore::default(), user("ada"));
        assert_eq!(todos.add(&ada, " ", None), Err(TodoError::Empty));
        let long = "x".repeat(MAX_ITEM_BYTES + 1);
        assert_eq!(todos.add(&ada, &long, None), Err(TodoError::TooLong(long.len())));
        for _ in 0..MAX_TODOS {
            todos.add(&ada, "milk", None).unwrap();
        }
        let full = todos.add(&ada, "milk", None).unwrap_err();
        assert_eq!(
            full.to_string(),
            "The list is full: at most 1000 todos are allowed. Delete some of them first."
        );
        for n in 1..MAX_USERS {
            todos.add(&user(&format!("u{n}")), "milk", None).unwrap();
        }
        assert_eq!(todos.add(&user("one-more"), "milk", None), Err(TodoError::TooManyUsers));
        assert!(todos.add(&user("u1"), "bread", None).is_ok());
    }
}
