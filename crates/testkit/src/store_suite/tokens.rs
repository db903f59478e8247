//! The list of tokens.

use toolyard_core::ports::{IssuedToken, TokenRoom};
use toolyard_protocol::{TokenId, api::Role};

use super::{Store, at};

const ROOM: TokenRoom = TokenRoom { of_subject: 2, of_all: 3 };

fn token(number: u8, subject: &str) -> IssuedToken {
    IssuedToken {
        id: TokenId::from_bytes([number; 16]),
        name: format!("token {number}"),
        subject: subject.to_owned(),
        role: if number == 1 { Role::Curator } else { Role::User },
        created_at: at(number.into()),
        expires_at: at(100 + i64::from(number)),
        created_by: "root".to_owned(),
        revoked_at: None,
    }
}

/// Added while there is room, listed, called back once, forgotten when they have ended.
pub async fn tokens_are_listed_and_called_back(store: &impl Store) {
    let (one, two) = (token(1, "ada"), token(2, "ada"));
    assert!(store.add_token(&one, ROOM).await.unwrap() && store.add_token(&two, ROOM).await.unwrap());
    assert!(!store.add_token(&token(3, "ada"), ROOM).await.unwrap(), "ada has no room");
    assert!(store.add_token(&token(4, "bob"), ROOM).await.unwrap());
    assert!(!store.add_token(&token(5, "eve"), ROOM).await.unwrap(), "nobody has room");
    assert!(store.add_token(&one, ROOM).await.is_err() || store.issued(None).await.unwrap().len() == 3);

    assert_eq!(store.issued(Some("ada")).await.unwrap(), [two.clone(), one.clone()]);
    assert_eq!(store.issued(None).await.unwrap(), [token(4, "bob"), two, one.clone()]);
    assert!(store.issued(Some("eve")).await.unwrap().is_empty());

    assert_eq!(store.revoke_token(&one.id, Some("bob"), at(10)).await.unwrap(), None, "not bob's");
    assert_eq!(store.revoke_token(&TokenId::from_bytes([9; 16]), None, at(10)).await.unwrap(), None);
    assert!(store.revoked_tokens(at(10)).await.unwrap().is_empty());
    let revoked = IssuedToken { revoked_at: Some(at(10)), ..one.clone() };
    assert_eq!(store.revoke_token(&one.id, Some("ada"), at(10)).await.unwrap(), Some(revoked.clone()));
    assert_eq!(
        store.revoke_token(&one.id, None, at(20)).await.unwrap(),
        Some(revoked),
        "the first time counts"
    );
    assert_eq!(store.revoked_tokens(at(100)).await.unwrap(), [(one.id.clone(), at(101))]);
    assert!(store.revoked_tokens(at(101)).await.unwrap().is_empty(), "it has ended by itself");

    // What was called back takes its place until it ends.
    assert!(!store.add_token(&token(6, "ada"), ROOM).await.unwrap());
    let later = IssuedToken { created_at: at(101), expires_at: at(200), ..token(7, "ada") };
    assert!(store.add_token(&later, ROOM).await.unwrap());
    store.forget_tokens(at(102)).await.unwrap();
    let left: Vec<_> = store.issued(None).await.unwrap().into_iter().map(|token| token.name).collect();
    assert_eq!(left, ["token 7", "token 4"]);
}
