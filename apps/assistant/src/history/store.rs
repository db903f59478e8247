//! Exchanges and summaries in SQLite: in a file, or in memory only.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension as _, params};
use tokio_util::sync::CancellationToken;
use toolyard_app_sdk::UserId;

use super::exchange::ConversationExchange;

/// Most exchanges of one user; older ones are deleted.
pub const MAX_EXCHANGES: u32 = 200;

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS exchanges (
        id INTEGER PRIMARY KEY,
        user TEXT NOT NULL,
        messages TEXT NOT NULL
    );
    CREATE INDEX IF NOT EXISTS exchanges_of_user ON exchanges (user, id);
    CREATE TABLE IF NOT EXISTS summaries (user TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
    PRAGMA user_version = 1;
";
/// The schema version of this program.
const VERSION: i64 = 1;

/// Why a conversation cannot be stored or read.
#[derive(Debug, thiserror::Error)]
pub enum HistoryStoreError {
    /// The database.
    #[error("cannot store or read conversations: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// The file was written by a newer program.
    #[error("{} was written by a newer version of the assistant (schema version {found}); update the assistant, or choose another file", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its schema version.
        found: i64,
    },
    /// The file.
    #[error("cannot open {}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: std::io::Error,
    },
    /// The folder.
    #[error("cannot create the folder of {}: {error}", path.display())]
    Folder {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: std::io::Error,
    },
    /// The task was cancelled.
    #[error("cannot read conversations: the assistant is stopping")]
    Stopped,
}

/// The stored conversation of one user.
#[derive(Debug, Clone, Default)]
pub struct StoredConversation {
    /// The summary of older exchanges.
    pub summary: Option<String>,
    /// The exchanges with their ids, the oldest first.
    pub exchanges: Vec<(i64, ConversationExchange)>,
}

/// The user's consent to storing, as of some time. [`HistoryStore::forget_user`] revokes it; nothing is stored under a revoked
/// token.
#[derive(Debug, Clone)]
pub struct RetentionToken(CancellationToken);

/// The conversations of all users. Clones share them.
#[derive(Debug, Clone)]
pub struct HistoryStore {
    connection: Arc<Mutex<Connection>>,
    /// The valid tokens, of users who asked something since their conversation was last deleted.
    retention_tokens: Arc<Mutex<HashMap<UserId, RetentionToken>>>,
}

impl HistoryStore {
    /// Opens a file, and creates it if it does not exist.
    pub fn open(path: &Path) -> Result<Self, HistoryStoreError> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            create_folder(folder)
                .map_err(|error| HistoryStoreError::Folder { path: path.to_owned(), error })?;
        }
        create_private_file(path)
            .map_err(|error| HistoryStoreError::File { path: path.to_owned(), error })?;
        let connection = Connection::open(path)?;
        let found: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        if found > VERSION {
            return Err(HistoryStoreError::Newer { path: path.to_owned(), found });
        }
        // Deleted data is overwritten, not only unlinked.
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON;",
        )?;
        Self::from_connection(connection)
    }

    /// A store in memory, lost when the process ends.
    pub fn in_memory() -> Result<Self, HistoryStoreError> {
        Self::from_connection(Connection::open_in_memory()?)
    }

    fn from_connection(connection: Connection) -> Result<Self, HistoryStoreError> {
        connection.execute_batch(SCHEMA)?;
        Ok(Self { connection: Arc::new(Mutex::new(connection)), retention_tokens: Arc::default() })
    }

    /// The current token of a user.
    pub fn retention_token(&self, user: &UserId) -> RetentionToken {
        let mut wishes = self.retention_tokens.lock();
        wishes.entry(user.clone()).or_insert_with(|| RetentionToken(CancellationToken::new())).clone()
    }

    /// Reads the conversation of a user.
    pub async fn load_conversation(&self, user: &UserId) -> Result<StoredConversation, HistoryStoreError> {
        let user = user.clone();
        self.with_connection(move |connection| {
            let summary = connection
                .query_row("SELECT text FROM summaries WHERE user = ?1", [user.as_str()], |row| row.get(0))
                .optional()?;
            let mut rows =
                connection.prepare("SELECT id, messages FROM exchanges WHERE user = ?1 ORDER BY id")?;
            let rows =
                rows.query_map([user.as_str()], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))?;
            let mut exchanges = Vec::new();
            for row in rows {
                let (id, text) = row?;
                // Unreadable exchanges are skipped.
                if let Ok(exchange) = serde_json::from_str(&text) {
                    exchanges.push((id, exchange));
                }
            }
            Ok(StoredConversation { summary, exchanges })
        })
        .await
    }

    /// Adds an exchange, unless the token is revoked. Returns whether it was added.
    pub async fn add_exchange(
        &self,
        user: &UserId,
        wish: &RetentionToken,
        exchange: &ConversationExchange,
    ) -> Result<bool, HistoryStoreError> {
        let (user, text) = (user.clone(), toolyard_protocol::raw::to_raw(exchange).get().to_owned());
        let wish = wish.clone();
        self.with_connection(move |connection| {
            // Checked under the connection's lock: a later revocation also deletes later.
            if wish.0.is_cancelled() {
                return Ok(false);
            }
            let change = connection.transaction()?;
            change.execute(
                "INSERT INTO exchanges (user, messages) VALUES (?1, ?2)",
                params![user.as_str(), text],
            )?;
            change.execute(
                "DELETE FROM exchanges WHERE user = ?1 AND id <= (SELECT id FROM exchanges WHERE user = ?1
                 ORDER BY id DESC LIMIT 1 OFFSET ?2)",
                params![user.as_str(), MAX_EXCHANGES],
            )?;
            change.commit()?;
            Ok(true)
        })
        .await
    }

    /// Replaces all exchanges up to the given id with a summary. Does nothing if the token is revoked, because ids are
    /// reused, or if the exchange no longer exists.
    pub async fn replace_with_summary(
        &self,
        user: &UserId,
        wish: &RetentionToken,
        up_to: i64,
        summary: &str,
    ) -> Result<bool, HistoryStoreError> {
        let (user, wish, summary) = (user.clone(), wish.clone(), summary.to_owned());
        self.with_connection(move |connection| {
            if wish.0.is_cancelled() {
                return Ok(false);
            }
            let change = connection.transaction()?;
            let there: Option<i64> = change
                .query_row("SELECT id FROM exchanges WHERE user = ?1 AND id = ?2", params![user.as_str(), up_to], |row| row.get(0))
                .optional()?;
            if there.is_none() {
                return Ok(false);
            }
            change.execute("DELETE FROM exchanges WHERE user = ?1 AND id <= ?2", params![user.as_str(), up_to])?;
            change.execute(
                "INSERT INTO summaries (user, text) VALUES (?1, ?2) ON CONFLICT (user) DO UPDATE SET text = excluded.text",
                params![user.as_str(), summary],
            )?;
            change.commit()?;
            Ok(true)
        })
        .await
    }

    /// Deletes the conversation of a user, and revokes the token.
    pub async fn forget_user(&self, user: &UserId) -> Result<(), HistoryStoreError> {
        // Revoked before anything is deleted, and removed: a revoked token never becomes valid again.
        if let Some(wish) = self.retention_tokens.lock().remove(user) {
            wish.0.cancel();
        }
        let user = user.clone();
        self.with_connection(move |connection| {
            let change = connection.transaction()?;
            change.execute("DELETE FROM exchanges WHERE user = ?1", [user.as_str()])?;
            change.execute("DELETE FROM summaries WHERE user = ?1", [user.as_str()])?;
            change.commit()?;
            // Also removes the data from the write-ahead log; a store in memory has none.
            let _ = connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
            Ok(())
        })
        .await
    }

    async fn with_connection<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, HistoryStoreError> {
        let shared = self.connection.clone();
        let done = tokio::task::spawn_blocking(move || work(&mut shared.lock()));
        Ok(done.await.map_err(|_| HistoryStoreError::Stopped)??)
    }
}

/// Creates the file if it does not exist, readable only by its owner. Files that SQLite adds get the same mode.
fn create_private_file(path: &Path) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    drop(file);
    #[cfg(unix)]
    for companion in ["", "-wal", "-shm", "-journal"] {
        let mut path = path.as_os_str().to_owned();
        path.push(companion);
        restrict_access(Path::new(&path))?;
    }
    Ok(())
}

/// Removes the access of other accounts from a file of an older version.
#[cfg(unix)]
fn restrict_access(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let Ok(found) = std::fs::metadata(path) else { return Ok(()) };
    let mode = found.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        tracing::warn!(path = %path.display(), mode = %format!("{mode:o}"), "file was accessible to other accounts; access removed");
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode & 0o700))?;
    }
    Ok(())
}

/// Creates a folder that only its owner can read. An existing one is not changed.
fn create_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[tokio::test]
    async fn conversations_are_for_their_owner_only() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data/assistant.db");
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let store = HistoryStore::open(&path).unwrap();
        add(&store, "ada", "a secret").await;
        assert_eq!((mode(&folder.path().join("data")), mode(&path)), (0o700, 0o600));
        drop(store);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        let _store = HistoryStore::open(&path).unwrap();
        assert_eq!(mode(&path), 0o600, "an older version made it readable for all");
    }

    fn user(name: &str) -> UserId {
        name.parse().unwrap()
    }

    fn said(text: &str) -> ConversationExchange {
        ConversationExchange::new(text, &[], Some("ok"))
    }

    async fn add(store: &HistoryStore, who: &str, text: &str) {
        let user = user(who);
        assert!(store.add_exchange(&user, &store.retention_token(&user), &said(text)).await.unwrap());
    }

    async fn questions(store: &HistoryStore, who: &str) -> usize {
        store.load_conversation(&user(who)).await.unwrap().exchanges.len()
    }

    #[tokio::test]
    async fn conversations_survive_a_restart_unless_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/assistant.db");
        let store = HistoryStore::open(&path).unwrap();
        add(&store, "ada", "my secret is swordfish").await;
        add(&store, "bob", "hello").await;
        drop(store);
        let store = HistoryStore::open(&path).unwrap();
        assert_eq!((questions(&store, "ada").await, questions(&store, "bob").await), (1, 1));
        store.forget_user(&user("ada")).await.unwrap();
        assert_eq!((questions(&store, "ada").await, questions(&store, "bob").await), (0, 1));
        for file in std::fs::read_dir(path.parent().unwrap()).unwrap() {
            let file = file.unwrap().path();
            #[cfg(unix)]
            {
                let mode = std::os::unix::fs::PermissionsExt::mode(&file.metadata().unwrap().permissions());
                assert_eq!(mode & 0o777, 0o600, "{}", file.display());
            }
            let bytes = std::fs::read(file).unwrap();
            assert!(!bytes.windows(9).any(|window| window == b"swordfish"), "it is still in a file");
        }
    }

    #[tokio::test]
    async fn a_summary_replaces_the_removed_exchanges() {
        let store = HistoryStore::in_memory().unwrap();
        let ada = user("ada");
        for text in ["a", "b", "c"] {
            add(&store, "ada", text).await;
        }
        let second = store.load_conversation(&ada).await.unwrap().exchanges[1].0;
        let wish = store.retention_token(&ada);
        assert!(store.replace_with_summary(&ada, &wish, second, "a and b").await.unwrap());
        let past = store.load_conversation(&ada).await.unwrap();
        assert_eq!((past.summary.as_deref(), past.exchanges.len()), (Some("a and b"), 1));
        assert!(!store.replace_with_summary(&ada, &wish, second, "again").await.unwrap(), "gone is gone");
        store.forget_user(&ada).await.unwrap();
        assert!(store.load_conversation(&ada).await.unwrap().summary.is_none());
        // The numbers of what was forgotten are given again.
        for text in ["d", "e", "f"] {
            add(&store, "ada", text).await;
        }
        assert_eq!(store.load_conversation(&ada).await.unwrap().exchanges[1].0, second);
        assert!(
            !store.replace_with_summary(&ada, &wish, second, "a and b").await.unwrap(),
            "a summary of what was forgotten"
        );
        assert_eq!(questions(&store, "ada").await, 3);
    }

    #[tokio::test]
    async fn the_number_of_exchanges_is_limited() {
        let store = HistoryStore::in_memory().unwrap();
        for n in 0..MAX_EXCHANGES + 3 {
            add(&store, "ada", &n.to_string()).await;
        }
        let past = store.load_conversation(&user("ada")).await.unwrap();
        assert_eq!(past.exchanges.len(), MAX_EXCHANGES as usize);
        assert!(past.exchanges[0].1.as_lines().starts_with("User: 3\n"));
    }

    #[test]
    fn a_file_of_a_newer_program_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("assistant.db");
        Connection::open(&path).unwrap().execute_batch("PRAGMA user_version = 9").unwrap();
        let error = HistoryStore::open(&path).unwrap_err().to_string();
        assert!(error.contains("newer version") && error.contains("schema version 9"), "{error}");
    }
}
