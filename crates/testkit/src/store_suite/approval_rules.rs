//! What users and the operator decided about future calls.

use toolyard_core::ports::StoredChoice;
use toolyard_protocol::{ToolName, approval::ToolChoice};

use super::{
    FullStore,
    approvals::{approval_id, stored_grant, user},
    at_second,
};

fn tool(name: &str) -> ToolName {
    name.parse().unwrap()
}

/// A choice replaces the one before it, and belongs to one user and one tool.
pub async fn choices_are_each_users_own(store: &impl FullStore) {
    let always = StoredChoice {
        choice: ToolChoice::Always,
        at: at_second(1),
        until: Some(at_second(9)),
        definition: Some([4; 32]),
    };
    let never = StoredChoice { choice: ToolChoice::Never, at: at_second(2), until: None, definition: None };
    let (ada, bob) = (user("ada"), user("bob"));
    store.set_choice(&ada, &tool("com.a:x"), Some(&never)).await.unwrap();
    store.set_choice(&ada, &tool("com.a:x"), Some(&always)).await.unwrap();
    store.set_choice(&ada, &tool("com.a:y"), Some(&never)).await.unwrap();
    store.set_choice(&bob, &tool("com.a:x"), Some(&never)).await.unwrap();
    let rules = store.user_rules(&ada).await.unwrap();
    assert_eq!(rules.choices.len(), 2);
    assert_eq!((&rules.choices[&tool("com.a:x")], &rules.choices[&tool("com.a:y")]), (&always, &never));
    for _ in 0..2 {
        store.set_choice(&ada, &tool("com.a:x"), None).await.unwrap();
    }
    let rules = store.user_rules(&ada).await.unwrap();
    assert_eq!(rules.choices.keys().collect::<Vec<_>>(), [&tool("com.a:y")]);
    assert_eq!(store.user_rules(&bob).await.unwrap().choices.len(), 1);
}

/// Grants are limited per user, used up one by one, and revoked by their user.
pub async fn grants_are_used_up_and_revoked(store: &impl FullStore) {
    let (twice, any) = (stored_grant(1, "ada", Some(2)), stored_grant(2, "ada", None));
    assert!(store.add_grant(&twice, 2).await.unwrap());
    assert!(store.add_grant(&any, 2).await.unwrap());
    assert!(!store.add_grant(&stored_grant(3, "ada", None), 2).await.unwrap(), "two is the limit");
    assert!(store.add_grant(&stored_grant(4, "bob", None), 2).await.unwrap());
    let rules = store.user_rules(&user("ada")).await.unwrap();
    assert_eq!(rules.grants[&any.tool], [twice.clone(), any.clone()], "oldest first");

    assert!(store.use_grant(&twice.id).await.unwrap());
    let left = store.user_rules(&user("ada")).await.unwrap().grants[&any.tool][0].uses;
    assert_eq!(left, Some(1));
    assert!(store.use_grant(&twice.id).await.unwrap());
    assert!(!store.use_grant(&twice.id).await.unwrap(), "none is left");
    assert!(!store.use_grant(&approval_id(9)).await.unwrap());

    assert!(!store.remove_grant(&user("bob"), &any.id).await.unwrap(), "it is not his");
    assert!(store.remove_grant(&user("ada"), &any.id).await.unwrap());
    assert!(!store.remove_grant(&user("ada"), &any.id).await.unwrap());
    assert!(!store.use_grant(&any.id).await.unwrap());
}

/// One policy at most.
pub async fn one_policy_is_stored(store: &impl FullStore) {
    assert_eq!(store.stored_policy().await.unwrap(), None);
    for policy in ["{}", r#"{"preset":"strict"}"#] {
        store.set_stored_policy(Some(policy)).await.unwrap();
        assert_eq!(store.stored_policy().await.unwrap().as_deref(), Some(policy));
    }
    store.set_stored_policy(None).await.unwrap();
    assert_eq!(store.stored_policy().await.unwrap(), None);
}
