//! Accounts, ways to sign in, browser sessions, and programs that wait for a person.

use toolyard_core::ports::{
    AccountQuery, AccountStore, BrowserSession, BrowserSessionStore, Change, DeviceLogin, DeviceLoginConsent,
    DeviceLoginStore, EndedSessions, RedeemedDeviceLogin, RemoveMethodOutcome, SaveAccountOutcome,
    SignInStore, StoredPasskey, StoredPassword, Stores, UserAccount,
};
use toolyard_protocol::{TokenId, UserId, accounts::SignInMethod, api::Role};

use super::{at_second, changes::ChangeReader};

fn user(name: &str) -> UserId {
    name.parse().unwrap()
}

pub(super) fn account(name: &str, role: Role) -> UserAccount {
    UserAccount {
        id: user(name),
        email: Some(format!("{name}@example.com")),
        name: None,
        role,
        groups: vec!["staff".to_owned()],
        managed_by: None,
        created_at: at_second(1),
        links_from: at_second(1),
        last_seen_at: None,
        disabled_at: None,
    }
}

/// Accounts are added once, keep their address for themselves, and never lose the last operator.
pub async fn accounts_are_unique_and_keep_an_operator(stores: &Stores) {
    let store: &dyn AccountStore = &*stores.accounts;
    let (ada, root) = (account("ada", Role::User), account("root", Role::Operator));
    assert!(!store.has_operator().await.unwrap());
    for added in [&ada, &root] {
        assert_eq!(store.add_account(added, 3).await.unwrap(), SaveAccountOutcome::Saved);
        assert_eq!(store.find_account(&added.id).await.unwrap().as_ref(), Some(added));
    }
    assert!(store.has_operator().await.unwrap());
    let other = UserAccount { email: None, ..ada.clone() };
    assert_eq!(store.add_account(&other, 3).await.unwrap(), SaveAccountOutcome::WrongState);
    let same_address = UserAccount { email: ada.email.clone(), ..account("bob", Role::User) };
    assert_eq!(store.add_account(&same_address, 3).await.unwrap(), SaveAccountOutcome::EmailTaken);
    assert_eq!(
        store.change_account(&account("bob", Role::User), &account("bob", Role::User)).await.unwrap(),
        SaveAccountOutcome::WrongState
    );
    store.add_account(&account("bob", Role::User), 3).await.unwrap();
    let full = store.add_account(&account("cleo", Role::User), 3).await.unwrap();
    assert_eq!(full, SaveAccountOutcome::QuotaReached);
    for last in [
        UserAccount { role: Role::Curator, ..root.clone() },
        UserAccount { disabled_at: Some(at_second(2)), ..root.clone() },
    ] {
        assert_eq!(store.change_account(&root, &last).await.unwrap(), SaveAccountOutcome::LastOperator);
        assert_eq!(store.find_account(&root.id).await.unwrap().as_ref(), Some(&root), "nothing changed");
    }
    let found = store.find_account_by_email("ada@example.com").await.unwrap();
    assert_eq!(found.as_ref(), Some(&ada));
    let page = async |text, after: Option<&str>, limit| -> Vec<String> {
        let after = after.map(user);
        let query = AccountQuery { text, after: after.as_ref(), limit };
        store.list_accounts(query).await.unwrap().iter().map(|account| account.id.to_string()).collect()
    };
    assert_eq!(page("", None, 2).await, ["ada", "bob"]);
    assert_eq!(page("", Some("bob"), 2).await, ["root"]);
    assert_eq!(page("B@EX", None, 9).await, ["bob"], "in any case, also in the address");
    assert_eq!(page("%", None, 9).await, [""; 0], "no pattern");
}

/// Disabling a user is announced to every node, and so is the end of it.
pub async fn disabled_users_are_in_the_change_log(stores: &Stores) {
    let store = &*stores.accounts;
    let changes = ChangeReader::new(stores);
    let ada = account("ada", Role::User);
    store.add_account(&ada, 9).await.unwrap();
    let disabled = UserAccount { disabled_at: Some(at_second(2)), ..ada.clone() };
    store.change_account(&ada, &disabled).await.unwrap();
    // A change based on the earlier state is refused.
    let renamed = UserAccount { name: Some("Ada".to_owned()), ..ada.clone() };
    let outcome = store.change_account(&ada, &renamed).await.unwrap();
    assert_eq!(outcome, SaveAccountOutcome::WrongState);
    assert_eq!(store.disabled_users().await.unwrap(), std::slice::from_ref(&ada.id));
    store.change_account(&disabled, &ada).await.unwrap();
    assert!(store.disabled_users().await.unwrap().is_empty());
    assert_eq!(
        changes.read_changes().await,
        [Change::UserDisabled(ada.id.clone()), Change::UserEnabled(ada.id)]
    );
}

/// A user always keeps one way to sign in; a passkey belongs to one user, and its record is replaced by one of two uses.
pub async fn ways_to_sign_in_are_bound_to_their_user(stores: &Stores) {
    let (ada, bob) = (user("ada"), user("bob"));
    for name in ["ada", "bob"] {
        stores.accounts.add_account(&account(name, Role::User), 9).await.unwrap();
    }
    let store: &dyn SignInStore = &*stores.sign_in;
    assert_eq!(store.remove_password(&ada).await.unwrap(), RemoveMethodOutcome::Unknown);
    let password = StoredPassword { hash: "hash".to_owned(), changed_at: at_second(1) };
    store.set_password(&ada, &password).await.unwrap();
    let newer = StoredPassword { hash: "newer".to_owned(), changed_at: at_second(2) };
    store.set_password(&ada, &newer).await.unwrap();
    assert_eq!(store.sign_in_methods(&ada).await.unwrap().password, Some(newer));
    assert_eq!(store.sign_in_methods(&bob).await.unwrap().password, None);
    assert_eq!(store.remove_password(&ada).await.unwrap(), RemoveMethodOutcome::OnlyOne);

    let passkey = |id: &str| StoredPasskey {
        id: id.to_owned(),
        user: ada.clone(),
        name: id.to_owned(),
        record: "{}".to_owned(),
        created_at: at_second(3),
        last_used_at: None,
    };
    assert!(store.add_passkey(&passkey("one"), 2).await.unwrap());
    assert!(!store.add_passkey(&passkey("one"), 2).await.unwrap(), "known");
    assert!(!store.add_passkey(&StoredPasskey { user: bob.clone(), ..passkey("one") }, 2).await.unwrap());
    assert!(store.add_passkey(&passkey("two"), 2).await.unwrap());
    assert!(!store.add_passkey(&passkey("three"), 2).await.unwrap(), "too many");
    let read = store.find_passkey("one").await.unwrap().unwrap();
    assert!(store.use_passkey(&read, "{\"used\":1}", at_second(4)).await.unwrap());
    assert!(
        !store.use_passkey(&read, "{\"used\":2}", at_second(5)).await.unwrap(),
        "read before it was used"
    );
    let used = store.find_passkey("one").await.unwrap().unwrap();
    assert_eq!((used.record.as_str(), used.last_used_at), ("{\"used\":1}", Some(at_second(4))));
    assert_eq!(store.remove_passkey(&bob, "one").await.unwrap(), RemoveMethodOutcome::Unknown);
    assert_eq!(store.remove_passkey(&ada, "one").await.unwrap(), RemoveMethodOutcome::Removed);
    assert_eq!(store.remove_password(&ada).await.unwrap(), RemoveMethodOutcome::Removed);
    assert_eq!(store.remove_passkey(&ada, "two").await.unwrap(), RemoveMethodOutcome::OnlyOne);

    assert!(store.add_identity("https://issuer", "1", &ada).await.unwrap());
    assert!(store.add_identity("https://issuer", "1", &ada).await.unwrap(), "again");
    assert!(!store.add_identity("https://issuer", "1", &bob).await.unwrap(), "another user's");
    assert_eq!(store.find_identity("https://issuer", "1").await.unwrap(), Some(ada.clone()));
    assert_eq!(store.find_identity("https://other", "1").await.unwrap(), None);
    assert_eq!(store.sign_in_methods(&ada).await.unwrap().identities, 1);
    assert_eq!(store.remove_passkey(&ada, "two").await.unwrap(), RemoveMethodOutcome::Removed);
}

/// Sessions need an account that is not disabled, are bounded, and stay known as ended until they expire.
pub async fn browser_sessions_end_and_are_bounded(stores: &Stores) {
    let ada = user("ada");
    let session = |number: u8, second: i64| BrowserSession {
        id: TokenId::from_bytes([number; 16]),
        user: ada.clone(),
        method: SignInMethod::Passkey,
        device: "Firefox on Linux".to_owned(),
        started_at: at_second(second),
        last_seen_at: at_second(second),
        expires_at: at_second(1_000),
    };
    let store: &dyn BrowserSessionStore = &*stores.browser_sessions;
    let until = at_second(500);
    assert_eq!(store.add_browser_session(&session(1, 1), 2, until).await.unwrap(), None, "no account");
    stores.accounts.add_account(&account("ada", Role::User), 9).await.unwrap();
    for number in 1..=3 {
        let added = store.add_browser_session(&session(number, number.into()), 2, until).await.unwrap();
        assert_eq!(added, Some(Role::User));
    }
    let ids = async |now| -> Vec<TokenId> {
        let sessions = store.list_browser_sessions(&ada, at_second(now)).await.unwrap();
        sessions.into_iter().map(|session| session.id).collect()
    };
    let id = |number| TokenId::from_bytes([number; 16]);
    assert_eq!(ids(9).await, [id(3), id(2)], "the oldest made room");
    assert_eq!(store.touch_browser_session(&id(2), at_second(10)).await.unwrap(), Some(Role::User));
    assert_eq!(store.touch_browser_session(&id(1), at_second(10)).await.unwrap(), None, "ended");
    assert_eq!(ids(11).await, [id(2), id(3)]);
    assert_eq!(stores.accounts.find_account(&ada).await.unwrap().unwrap().last_seen_at, Some(at_second(10)));
    let end = async |which: EndedSessions<'_>| -> Vec<TokenId> {
        let ended = store.end_browser_sessions(&ada, which, at_second(12), until).await.unwrap();
        ended.into_iter().map(|session| session.id).collect()
    };
    assert_eq!(end(EndedSessions::AllBut(&id(2))).await, [id(3)]);
    assert_eq!(end(EndedSessions::One(&id(3))).await, [] as [TokenId; 0], "it had ended");
    assert_eq!(end(EndedSessions::All).await, [id(2)]);
    let mut ended = store.ended_browser_sessions(at_second(499)).await.unwrap();
    ended.sort();
    assert_eq!(ended, [1, 2, 3].map(|number| (id(number), until)), "no cookie is valid longer");
    assert!(store.ended_browser_sessions(until).await.unwrap().is_empty());
    store.prune_browser_sessions(until).await.unwrap();
    assert!(store.ended_browser_sessions(at_second(0)).await.unwrap().is_empty());
    let disabled = UserAccount { disabled_at: Some(at_second(13)), ..account("ada", Role::User) };
    stores.accounts.change_account(&account("ada", Role::User), &disabled).await.unwrap();
    assert_eq!(store.add_browser_session(&session(4, 14), 2, until).await.unwrap(), None, "disabled");
}

/// A program gets what one person agreed to, once.
pub async fn device_logins_are_answered_and_redeemed_once(stores: &Stores) {
    let store: &dyn DeviceLoginStore = &*stores.device_logins;
    let login = |code: &str| DeviceLogin {
        user_code: code.to_owned(),
        name: "cli".to_owned(),
        created_at: at_second(1),
        until: at_second(100),
        is_answered: false,
    };
    let now = at_second(2);
    assert!(store.add_device_login(&[1; 32], &login("BBBBBBBB"), 2).await.unwrap());
    assert!(!store.add_device_login(&[2; 32], &login("BBBBBBBB"), 2).await.unwrap(), "the code is taken");
    assert!(store.add_device_login(&[2; 32], &login("CCCCCCCC"), 2).await.unwrap());
    assert!(!store.add_device_login(&[3; 32], &login("DDDDDDDD"), 2).await.unwrap(), "too many");
    assert_eq!(store.redeem_device_login(&[1; 32], now).await.unwrap(), RedeemedDeviceLogin::Waiting);
    assert_eq!(store.redeem_device_login(&[9; 32], now).await.unwrap(), RedeemedDeviceLogin::Gone);
    let consent = DeviceLoginConsent { user: user("ada"), role: Role::Developer, days: 7 };
    assert!(store.answer_device_login("BBBBBBBB", &consent.user, Some(&consent), now).await.unwrap());
    assert!(!store.answer_device_login("BBBBBBBB", &user("bob"), None, now).await.unwrap(), "answered");
    assert!(store.find_device_login("BBBBBBBB", now).await.unwrap().unwrap().is_answered);
    let agreed = RedeemedDeviceLogin::Agreed { name: "cli".to_owned(), consent };
    assert_eq!(store.redeem_device_login(&[1; 32], now).await.unwrap(), agreed);
    assert_eq!(store.redeem_device_login(&[1; 32], now).await.unwrap(), RedeemedDeviceLogin::Gone);
    assert!(store.answer_device_login("CCCCCCCC", &user("bob"), None, now).await.unwrap());
    assert_eq!(store.redeem_device_login(&[2; 32], now).await.unwrap(), RedeemedDeviceLogin::Gone, "refused");
    assert!(store.find_device_login("CCCCCCCC", at_second(100)).await.unwrap().is_none(), "expired");
    store.prune_device_logins(at_second(100)).await.unwrap();
    assert!(store.find_device_login("CCCCCCCC", now).await.unwrap().is_none());
}

/// Adds some accounts, and returns them.
pub async fn add_some_accounts(stores: &Stores) -> Vec<UserAccount> {
    let accounts = vec![account("ada", Role::User), account("root", Role::Operator)];
    for added in &accounts {
        assert_eq!(stores.accounts.add_account(added, 9).await.unwrap(), SaveAccountOutcome::Saved);
    }
    accounts
}

/// The accounts are there as they were added.
pub async fn accounts_are_found(stores: &Stores, accounts: &[UserAccount]) {
    for added in accounts {
        assert_eq!(stores.accounts.find_account(&added.id).await.unwrap().as_ref(), Some(added));
    }
}
