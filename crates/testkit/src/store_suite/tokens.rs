//! Issued tokens.

use toolyard_core::ports::{AddTokenOutcome, IssuedToken, TokenCursor, TokenQuota, TokenScope};
use toolyard_protocol::{TokenId, api::Role};

use super::{FullStore, at_second};

const ROOM: TokenQuota = TokenQuota { of_subject: 2, of_all: 3 };

pub(super) fn issued_token(number: u8, subject: &str) -> IssuedToken {
    IssuedToken {
        id: TokenId::from_bytes([number; 16]),
        name: format!("token {number}"),
        subject: subject.to_owned(),
        role: if number == 1 { Role::Curator } else { Role::User },
        created_at: at_second(number.into()),
        expires_at: at_second(100 + i64::from(number)),
        created_by: "root".to_owned(),
        made_with: None,
        revoked_at: None,
    }
}

const ALL: TokenScope<'_> = TokenScope { subject: None, role: Role::Operator };

fn subject_scope(subject: &str) -> TokenScope<'_> {
    TokenScope { subject: Some(subject), ..ALL }
}

/// Added within the limits, listed, revoked once, deleted after they expire.
pub async fn tokens_are_listed_and_revoked(store: &impl FullStore) {
    use AddTokenOutcome::{Listed, QuotaReached};
    let add = async |token: &IssuedToken| store.add_token(token, ROOM).await;
    let (one, two) = (issued_token(1, "ada"), issued_token(2, "ada"));
    assert_eq!((add(&one).await.unwrap(), add(&two).await.unwrap()), (Listed, Listed));
    assert_eq!(add(&issued_token(3, "ada")).await.unwrap(), QuotaReached, "ada has none");
    assert_eq!(add(&issued_token(4, "bob")).await.unwrap(), Listed);
    assert_eq!(add(&issued_token(5, "eve")).await.unwrap(), QuotaReached, "nobody has any");
    assert!(add(&one).await.is_err() || store.list_tokens(ALL, None, 9).await.unwrap().len() == 3);

    assert_eq!(store.list_tokens(subject_scope("ada"), None, 9).await.unwrap(), [two.clone(), one.clone()]);
    assert_eq!(
        store.list_tokens(ALL, None, 9).await.unwrap(),
        [issued_token(4, "bob"), two.clone(), one.clone()]
    );
    assert!(store.list_tokens(subject_scope("eve"), None, 9).await.unwrap().is_empty());
    let user = TokenScope { role: Role::User, ..subject_scope("ada") };
    assert_eq!(store.list_tokens(user, None, 9).await.unwrap(), [two], "one allows more");

    let revoke =
        async |id: &TokenId, scope, second| store.revoke_token(id, scope, at_second(second)).await.unwrap();
    assert!(revoke(&one.id, subject_scope("bob"), 10).await.is_empty(), "not bob's");
    assert!(revoke(&one.id, user, 10).await.is_empty(), "more than a user's");
    assert!(revoke(&TokenId::from_bytes([9; 16]), ALL, 10).await.is_empty());
    assert!(store.revoked_tokens(at_second(10)).await.unwrap().is_empty());
    let revoked = IssuedToken { revoked_at: Some(at_second(10)), ..one.clone() };
    assert_eq!(revoke(&one.id, subject_scope("ada"), 10).await, std::slice::from_ref(&revoked));
    assert_eq!(revoke(&one.id, ALL, 20).await, [revoked], "the first time counts");
    assert_eq!(store.revoked_tokens(at_second(100)).await.unwrap(), [(one.id.clone(), at_second(101))]);
    assert!(store.revoked_tokens(at_second(101)).await.unwrap().is_empty(), "it has ended by itself");

    // A revoked token counts toward the limits until it expires.
    assert_eq!(add(&issued_token(6, "ada")).await.unwrap(), QuotaReached);
    let later =
        IssuedToken { created_at: at_second(101), expires_at: at_second(200), ..issued_token(7, "ada") };
    assert_eq!(add(&later).await.unwrap(), Listed);
    store.remove_expired_tokens(at_second(102)).await.unwrap();
    let left = store.list_tokens(ALL, None, 9).await.unwrap();
    assert_eq!(left.into_iter().map(|token| token.name).collect::<Vec<_>>(), ["token 7", "token 4"]);
}

/// Page by page, each token once, even if some were issued at the same time.
pub async fn tokens_are_listed_page_by_page(store: &impl FullStore) {
    let room = TokenQuota { of_subject: 9, of_all: 9 };
    for number in 1..=5 {
        let token =
            IssuedToken { created_at: at_second(1 + i64::from(number) / 3), ..issued_token(number, "ada") };
        store.add_token(&token, room).await.unwrap();
    }
    let mut seen = Vec::new();
    let mut after = None;
    loop {
        let page = store.list_tokens(subject_scope("ada"), after.as_ref(), 2).await.unwrap();
        assert!(page.len() <= 2);
        let Some(last) = page.last() else { break };
        after = Some(TokenCursor { created_at: last.created_at, id: last.id.clone() });
        seen.extend(page.into_iter().map(|token| token.name));
    }
    assert_eq!(seen, ["token 5", "token 4", "token 3", "token 2", "token 1"]);
}

/// Revoking a token revokes all tokens that were issued with it, of any user; no more can be issued with it.
pub async fn a_token_is_revoked_with_those_issued_by_it(store: &impl FullStore) {
    let room = TokenQuota { of_subject: 9, of_all: 9 };
    let made = |number: u8, subject: &str, with: u8| IssuedToken {
        made_with: Some(TokenId::from_bytes([with; 16])),
        ..issued_token(number, subject)
    };
    for token in [
        issued_token(1, "ada"),
        made(2, "ada", 1),
        made(3, "bob", 2),
        issued_token(4, "ada"),
        made(5, "ada", 4),
    ] {
        assert_eq!(store.add_token(&token, room).await.unwrap(), AddTokenOutcome::Listed);
    }
    let gone =
        store.revoke_token(&issued_token(1, "").id, subject_scope("ada"), at_second(10)).await.unwrap();
    let mut names: Vec<_> = gone.into_iter().map(|token| token.name).collect();
    names.sort();
    assert_eq!(names, ["token 1", "token 2", "token 3"]);
    assert_eq!(store.revoked_tokens(at_second(10)).await.unwrap().len(), 3);
    assert_eq!(store.add_token(&made(6, "ada", 2), room).await.unwrap(), AddTokenOutcome::Revoked);
    assert_eq!(store.add_token(&made(7, "ada", 4), room).await.unwrap(), AddTokenOutcome::Listed);
}

/// This also works if a token in between has expired, or was never listed.
pub async fn tokens_are_revoked_even_if_the_issuing_token_is_gone(store: &impl FullStore) {
    let room = TokenQuota { of_subject: 9, of_all: 9 };
    let made = |number: u8, with: u8, ends| IssuedToken {
        made_with: Some(TokenId::from_bytes([with; 16])),
        expires_at: at_second(ends),
        ..issued_token(number, "ada")
    };
    for token in [issued_token(1, "ada"), made(2, 1, 20), made(3, 2, 500), made(5, 9, 500)] {
        assert_eq!(store.add_token(&token, room).await.unwrap(), AddTokenOutcome::Listed);
    }
    store.remove_expired_tokens(at_second(300)).await.unwrap();
    let left = store.list_tokens(ALL, None, 9).await.unwrap();
    assert_eq!(left.len(), 4, "each of them has one that lives, or lives");
    let names = |gone: Vec<IssuedToken>| {
        let mut names: Vec<_> = gone.into_iter().map(|token| token.name).collect();
        names.sort();
        names
    };
    let gone = store.revoke_token(&issued_token(1, "").id, ALL, at_second(300)).await.unwrap();
    assert_eq!(names(gone), ["token 1", "token 2", "token 3"]);
    assert!(
        store
            .revoke_token(&issued_token(9, "").id, subject_scope("ada"), at_second(300))
            .await
            .unwrap()
            .is_empty()
    );
    assert_eq!(
        names(store.revoke_token(&issued_token(9, "").id, ALL, at_second(300)).await.unwrap()),
        ["token 5"]
    );
    for _ in 0..3 {
        store.remove_expired_tokens(at_second(600)).await.unwrap();
    }
    assert!(store.list_tokens(ALL, None, 9).await.unwrap().is_empty());
}
