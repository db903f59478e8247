//! The browsers that users want to be notified in.

use toolyard_core::ports::{PushSubscriptionStore, StoredPushSubscription};
use toolyard_protocol::{PushSubscriptionId, UserId};

use super::at_second;

fn subscription(number: u8, user: &str, second: i64) -> StoredPushSubscription {
    StoredPushSubscription {
        id: PushSubscriptionId::from_bytes([number; 16]),
        user: user.parse().unwrap(),
        endpoint: format!("https://push.example/{number}"),
        receiver_key: vec![4; 65],
        auth_secret: vec![number; 16],
        server_key: "key".to_owned(),
        label: format!("browser {number}"),
        created_at: at_second(second),
        last_sent_at: None,
        problem: None,
    }
}

/// A browser belongs to the user who added it last; the oldest make room; deliveries are recorded.
pub async fn push_subscriptions_belong_to_one_user_and_are_bounded(store: &impl PushSubscriptionStore) {
    let users: [UserId; 2] = ["ada", "bob"].map(|name| name.parse().unwrap());
    let [ada, bob] = &users;
    let ids = async |user: &UserId| -> Vec<PushSubscriptionId> {
        store.list_push_subscriptions(user).await.unwrap().into_iter().map(|one| one.id).collect()
    };
    let id = |number| PushSubscriptionId::from_bytes([number; 16]);
    for (number, second) in [(1, 10), (2, 30), (3, 20)] {
        store.put_push_subscription(&subscription(number, "ada", second), 2).await.unwrap();
    }
    assert_eq!(ids(ada).await, [id(2), id(3)], "newest first; the oldest made room");
    store.put_push_subscription(&subscription(4, "ada", 1), 2).await.unwrap();
    assert_eq!(ids(ada).await, [id(2), id(4)], "the one that was just added stays");

    store.record_push(ada, &id(2), Ok(at_second(40))).await.unwrap();
    store.record_push(ada, &id(2), Err("the push service responded with 500")).await.unwrap();
    store.record_push(bob, &id(2), Ok(at_second(50))).await.unwrap();
    let found = store.list_push_subscriptions(ada).await.unwrap().remove(0);
    let problem = Some("the push service responded with 500".to_owned());
    assert_eq!(
        found,
        StoredPushSubscription { last_sent_at: Some(at_second(40)), problem, ..subscription(2, "ada", 30) }
    );
    store.record_push(ada, &id(2), Ok(at_second(60))).await.unwrap();
    assert_eq!(store.list_push_subscriptions(ada).await.unwrap()[0].problem, None);

    store.put_push_subscription(&subscription(2, "bob", 70), 2).await.unwrap();
    assert_eq!((ids(ada).await, ids(bob).await), (vec![id(4)], vec![id(2)]), "bob uses this browser now");
    assert!(!store.remove_push_subscription(ada, &id(2)).await.unwrap());
    assert!(store.remove_push_subscription(bob, &id(2)).await.unwrap());
    assert!(ids(bob).await.is_empty());
}
