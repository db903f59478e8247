//! What conversations have read.

use jiff::Timestamp;
use toolyard_core::ports::{LabelStore, StoredLabels};
use toolyard_protocol::UserId;

fn labels(name: &str, second: i64) -> StoredLabels {
    let until = Timestamp::from_second(second).unwrap();
    StoredLabels { private: vec![name.to_owned()], untrusted: Vec::new(), until }
}

/// Each user's conversations are their own, are replaced whole, and the ones that expire first make room.
pub async fn labels_of_conversations_are_bounded(store: &impl LabelStore) {
    let users: [UserId; 2] = ["ada", "bob"].map(|name| name.parse().unwrap());
    let [ada, bob] = &users;
    store.set_conversation_labels(bob, "c0", &labels("b:x", 1), 2).await.unwrap();
    for (number, second) in [(0, 30), (1, 10), (2, 20)] {
        let (id, kept) = (format!("c{number}"), labels("a:x", second));
        store.set_conversation_labels(ada, &id, &kept, 2).await.unwrap();
    }
    assert_eq!(store.conversation_labels(ada, "c1").await.unwrap(), None, "it would expire first");
    assert_eq!(store.conversation_labels(ada, "c0").await.unwrap(), Some(labels("a:x", 30)));
    assert_eq!(store.conversation_labels(bob, "c0").await.unwrap(), Some(labels("b:x", 1)));
    let both = StoredLabels { untrusted: vec!["w:y".to_owned()], ..labels("a:x", 40) };
    store.set_conversation_labels(ada, "c0", &both, 2).await.unwrap();
    assert_eq!(store.conversation_labels(ada, "c0").await.unwrap(), Some(both));
    assert_eq!(store.conversation_labels(bob, "c2").await.unwrap(), None);
}
