//! Clients that connect by OAuth, and what users granted them.

use toolyard_core::ports::{
    Change, ClientGrant, RedeemedCode, StoredOAuthClient, Stores, TokenQuota, TokenScope,
};
use toolyard_protocol::{TokenId, UserId, api::Role};

use super::{at_second, changes::ChangeReader};

fn client(number: i64) -> StoredOAuthClient {
    StoredOAuthClient {
        id: format!("client-{number}"),
        record: format!("{{\"n\":{number}}}"),
        created_at: at_second(number),
    }
}

fn grant(number: u8, user: &str, client: &str) -> ClientGrant {
    ClientGrant {
        id: TokenId::from_bytes([number; 16]),
        user: user.parse().unwrap(),
        client_id: client.to_owned(),
        client_name: "Claude".to_owned(),
        client_host: "claude.ai".to_owned(),
        scopes: "tools:read chat".to_owned(),
        made_with: None,
        created_at: at_second(i64::from(number)),
        last_used_at: at_second(i64::from(number)),
        expires_at: at_second(1_000),
        generation: 0,
        rotated_at: None,
        revoked_at: None,
    }
}

/// Clients are bounded; the oldest that no grant needs makes room.
pub async fn clients_that_register_are_bounded(stores: &Stores) {
    let store = &*stores.oauth;
    for number in 1..=2 {
        assert!(store.add_oauth_client(&client(number), 2).await.unwrap());
    }
    assert_eq!(store.find_oauth_client("client-1").await.unwrap(), Some(client(1)));
    assert!(store.add_client_grant(&grant(1, "ada", "client-1"), 9).await.unwrap());
    assert!(store.add_oauth_client(&client(3), 2).await.unwrap());
    assert_eq!(store.find_oauth_client("client-2").await.unwrap(), None, "no grant needs it");
    assert!(store.find_oauth_client("client-1").await.unwrap().is_some());
    assert!(store.add_client_grant(&grant(2, "ada", "client-3"), 9).await.unwrap());
    assert!(!store.add_oauth_client(&client(4), 2).await.unwrap(), "all are needed");
}

/// A refresh token is replaced once; a grant is revoked once, by its user, and every node learns of it.
pub async fn client_grants_rotate_and_are_revoked_once(stores: &Stores) {
    let (store, log) = (&*stores.oauth, ChangeReader::new(stores));
    let (ada, bob): (UserId, UserId) = ("ada".parse().unwrap(), "bob".parse().unwrap());
    let (first, second) = (grant(1, "ada", "c"), grant(2, "ada", "c"));
    assert!(store.add_client_grant(&first, 2).await.unwrap());
    assert_eq!(log.read_changes().await, [Change::TokenIssued { subject: "ada".into() }]);
    assert!(store.add_client_grant(&second, 2).await.unwrap());
    assert!(!store.add_client_grant(&grant(3, "ada", "c"), 2).await.unwrap(), "the limit of one user");
    assert!(store.add_client_grant(&grant(4, "bob", "c"), 2).await.unwrap());
    assert_eq!(
        store.list_client_grants(&ada, at_second(5)).await.unwrap(),
        [second.clone(), first.clone()],
        "newest first"
    );
    log.read_changes().await;

    let rotations = futures_util::future::join_all(
        (0..5).map(|_| store.rotate_client_grant(&first.id, 0, at_second(10))),
    );
    let rotated = rotations.await.into_iter().filter(|outcome| *outcome.as_ref().unwrap()).count();
    assert_eq!(rotated, 1, "of five at the same time");
    let found = store.find_client_grant(&first.id).await.unwrap().unwrap();
    let expected = ClientGrant {
        generation: 1,
        rotated_at: Some(at_second(10)),
        last_used_at: at_second(10),
        ..first.clone()
    };
    assert_eq!(found, expected);
    assert_eq!(log.read_changes().await, []);

    assert_eq!(store.revoke_client_grant(&first.id, Some(&bob), at_second(20)).await.unwrap(), None);
    let revoked = store.revoke_client_grant(&first.id, Some(&ada), at_second(20)).await.unwrap();
    assert_eq!(revoked, Some(ClientGrant { revoked_at: Some(at_second(20)), ..expected }));
    let change =
        Change::TokenRevoked { id: first.id.clone(), subject: "ada".into(), expires_at: at_second(1_000) };
    assert_eq!(log.read_changes().await, [change]);
    assert_eq!(store.revoke_client_grant(&first.id, None, at_second(21)).await.unwrap(), None, "once");
    assert!(!store.rotate_client_grant(&first.id, 1, at_second(22)).await.unwrap());
    assert_eq!(
        store.revoked_client_grants(at_second(30)).await.unwrap(),
        [(first.id.clone(), at_second(1_000))]
    );
    assert_eq!(store.list_client_grants(&ada, at_second(30)).await.unwrap(), [second]);
    assert!(store.list_client_grants(&ada, at_second(1_000)).await.unwrap().is_empty(), "expired");

    // A grant ends with the token with which the user agreed.
    let token = super::tokens::issued_token(9, "ada");
    stores.tokens.add_token(&token, TokenQuota { of_subject: 9, of_all: 9 }).await.unwrap();
    let with_token = ClientGrant { made_with: Some(token.id.clone()), ..grant(5, "ada", "c") };
    assert!(store.add_client_grant(&with_token, 9).await.unwrap());
    let all = TokenScope { subject: None, role: Role::Operator };
    stores.tokens.revoke_token(&token.id, all, at_second(30)).await.unwrap();
    assert_eq!(
        store.find_client_grant(&with_token.id).await.unwrap().unwrap().revoked_at,
        Some(at_second(30))
    );
    let late = ClientGrant { made_with: Some(token.id), ..grant(6, "ada", "c") };
    assert!(!store.add_client_grant(&late, 9).await.unwrap(), "its token is revoked");

    store.add_code(&[7; 32], &first.id, "{}", at_second(90)).await.unwrap();
    let redeemed =
        futures_util::future::join_all((0..3).map(|_| store.redeem_code(&[7; 32], at_second(35)))).await;
    let fresh = RedeemedCode::Fresh { grant: first.id.clone(), binding: "{}".to_owned() };
    let used = RedeemedCode::Used { grant: first.id.clone() };
    assert_eq!(redeemed.iter().filter(|one| one.as_ref().unwrap() == &fresh).count(), 1);
    assert_eq!(redeemed.iter().filter(|one| one.as_ref().unwrap() == &used).count(), 2);
    assert_eq!(store.redeem_code(&[8; 32], at_second(35)).await.unwrap(), RedeemedCode::Unknown);

    assert!(store.use_id_once("jti", at_second(40)).await.unwrap());
    assert!(!store.use_id_once("jti", at_second(50)).await.unwrap());
    store.add_code(&[9; 32], &grant(4, "bob", "c").id, "{}", at_second(90)).await.unwrap();
    store.prune_oauth(at_second(90)).await.unwrap();
    let abandoned = store.find_client_grant(&grant(4, "bob", "c").id).await.unwrap().unwrap();
    assert_eq!(abandoned.revoked_at, Some(at_second(90)), "nobody redeemed its code");
    store.prune_oauth(at_second(1_000)).await.unwrap();
    assert!(store.use_id_once("jti", at_second(60)).await.unwrap(), "it has expired");
    assert_eq!(store.find_client_grant(&first.id).await.unwrap(), None);
    assert_eq!(store.redeem_code(&[7; 32], at_second(1_000)).await.unwrap(), RedeemedCode::Unknown);
}
