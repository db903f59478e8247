//! Upstreams.

use toolyard_core::ports::{NewUpstreamRecord, StoredOffer, UpstreamOffer, UpstreamRecord, UpstreamWrite};
use toolyard_protocol::{UserId, upstream::UpstreamDetails};

use super::{FullStore, app_record, at_second, package_name};

fn upstream_to_add(name: &str, for_all: bool) -> NewUpstreamRecord {
    let details = UpstreamDetails {
        name: "U".to_owned(),
        url: Some("https://u.example/mcp".to_owned()),
        for_all,
        ..UpstreamDetails::default()
    };
    NewUpstreamRecord {
        package: package_name(name),
        owner: "op".to_owned(),
        upstream: UpstreamRecord { details, sealed: vec![1], managed: false, disabled: false },
        at: at_second(0),
        write: UpstreamWrite::Add,
        moved: false,
    }
}

/// An offer or a renewed token that belongs to what was before is not stored.
pub async fn an_outdated_offer_or_token_is_not_stored(store: &impl FullStore) {
    let (one, ada, bob): (_, UserId, UserId) =
        (package_name("mcp.one"), "ada".parse().unwrap(), "bob".parse().unwrap());
    assert!(store.put_upstream(upstream_to_add("mcp.one", false)).await.unwrap());
    let offer = || StoredOffer { offer: UpstreamOffer::default(), hash: "h".to_owned(), at: at_second(1) };
    let save =
        async |user: Option<&UserId>, since| store.save_offer(&one, user, offer(), since).await.unwrap();

    assert!(!store.replace_token(&one, &ada, vec![8]).await.unwrap(), "there is none");
    assert!(store.install_app(&ada, &one, at_second(1)).await.unwrap());
    assert!(store.set_token(&one, &ada, Some(vec![7])).await.unwrap());
    let authorized = store.offer_version().await.unwrap();
    assert!(store.replace_token(&one, &ada, vec![8]).await.unwrap());
    assert_eq!(store.find_token(&one, &ada).await.unwrap(), Some(vec![8]));
    assert!(save(Some(&ada), authorized).await, "a renewed token is the same authorization");

    // Every step ends what was read before it, for this user alone.
    assert!(store.set_token(&one, &ada, None).await.unwrap());
    assert!(!store.replace_token(&one, &ada, vec![9]).await.unwrap(), "it was withdrawn");
    assert_eq!(store.find_token(&one, &ada).await.unwrap(), None);
    assert!(!save(Some(&ada), authorized).await);
    let withdrawn = store.offer_version().await.unwrap();
    assert!(store.uninstall_app(&ada, &one).await.unwrap());
    assert!(store.install_app(&ada, &one, at_second(2)).await.unwrap());
    assert!(!save(Some(&ada), withdrawn).await);
    assert!(store.last_offer(&one, Some(&ada)).await.unwrap().is_none());
    assert!(save(Some(&bob), authorized).await);
    assert!(save(None, authorized).await);

    let before = store.offer_version().await.unwrap();
    let change = NewUpstreamRecord { write: UpstreamWrite::Change, ..upstream_to_add("mcp.one", false) };
    assert!(store.put_upstream(change).await.unwrap());
    assert!(!save(None, before).await);
    assert!(!save(Some(&bob), before).await);
    let before = store.offer_version().await.unwrap();
    assert!(store.remove_app(&one).await.unwrap());
    assert!(store.put_upstream(upstream_to_add("mcp.one", false)).await.unwrap());
    assert!(!save(None, before).await, "another one of the same name");
    assert!(save(None, store.offer_version().await.unwrap()).await);
}

/// Stored, changed, installed, removed with everything that belongs to them; last offers and tokens.
pub async fn upstreams_are_packages_and_keep_their_last_offer(store: &impl FullStore) {
    let (one, ada): (_, UserId) = (package_name("mcp.one"), "ada".parse().unwrap());
    store.create_app(app_record("com.a", "ada", None)).await.unwrap();
    assert!(store.put_upstream(upstream_to_add("mcp.one", false)).await.unwrap());
    assert!(store.put_upstream(upstream_to_add("mcp.two", true)).await.unwrap());
    for write in [UpstreamWrite::Add, UpstreamWrite::Change, UpstreamWrite::Configure] {
        let over = NewUpstreamRecord { write, ..upstream_to_add("com.a", true) };
        assert!(!store.put_upstream(over).await.unwrap(), "an app stays an app");
    }
    let others =
        |write| NewUpstreamRecord { owner: "eve".to_owned(), write, ..upstream_to_add("mcp.one", true) };
    assert!(!store.put_upstream(others(UpstreamWrite::Add)).await.unwrap(), "the name is taken");
    assert!(!store.put_upstream(others(UpstreamWrite::Change)).await.unwrap(), "and somebody else's");
    assert_eq!(store.find_app(&one).await.unwrap().unwrap().owner, "op");

    let found = store.find_app(&one).await.unwrap().unwrap();
    assert_eq!((found.details.name.as_str(), found.keys()), ("U", None));
    assert_eq!(found.upstream(), Some(&upstream_to_add("mcp.one", false).upstream));
    assert_eq!(store.list_apps(None).await.unwrap().len(), 1, "apps only");
    assert_eq!(store.list_upstreams().await.unwrap().len(), 2);
    assert_eq!(store.list_shared_upstreams().await.unwrap(), [package_name("mcp.two")]);
    let mut gone = upstream_to_add("mcp.two", true);
    (gone.upstream.disabled, gone.write) = (true, UpstreamWrite::Change);
    assert!(store.put_upstream(gone).await.unwrap());
    assert!(store.list_shared_upstreams().await.unwrap().is_empty());

    let offer = |hash: &str, seconds| StoredOffer {
        offer: UpstreamOffer { incomplete: vec![hash.to_owned()], ..UpstreamOffer::default() },
        hash: hash.to_owned(),
        at: at_second(seconds),
    };
    assert!(store.last_offer(&one, None).await.unwrap().is_none());
    let now = store.offer_version().await.unwrap();
    assert!(store.save_offer(&one, None, offer("h1", 1), now).await.unwrap());
    assert!(store.save_offer(&one, None, offer("h2", 2), now).await.unwrap());
    assert!(store.save_offer(&one, Some(&ada), offer("h3", 3), now).await.unwrap());
    assert!(!store.save_offer(&package_name("com.a"), None, offer("h", 3), now).await.unwrap());
    let last = store.last_offer(&one, None).await.unwrap().unwrap();
    assert_eq!(
        (last.hash.as_str(), last.at, last.offer.incomplete),
        ("h2", at_second(2), vec!["h2".to_owned()])
    );
    assert_eq!(store.last_offer(&one, Some(&ada)).await.unwrap().unwrap().hash, "h3");

    assert!(store.set_token(&one, &ada, Some(vec![7])).await.unwrap());
    assert!(!store.set_token(&package_name("mcp.none"), &ada, Some(vec![7])).await.unwrap());
    assert_eq!(store.find_token(&one, &ada).await.unwrap(), Some(vec![7]));
    assert_eq!(store.all_tokens().await.unwrap(), [(one.clone(), ada.clone(), vec![7])]);
    let moves = |moved| NewUpstreamRecord {
        write: UpstreamWrite::Change,
        moved,
        ..upstream_to_add("mcp.one", false)
    };
    assert!(store.put_upstream(moves(false)).await.unwrap());
    assert_eq!(store.find_token(&one, &ada).await.unwrap(), Some(vec![7]));
    assert!(store.put_upstream(moves(true)).await.unwrap());
    assert_eq!(store.find_token(&one, &ada).await.unwrap(), None, "a token is not for another place");
    assert!(store.set_token(&one, &ada, Some(vec![7])).await.unwrap());
    assert!(store.install_app(&ada, &one, at_second(4)).await.unwrap());
    assert!(store.uninstall_app(&ada, &one).await.unwrap());
    assert_eq!(store.find_token(&one, &ada).await.unwrap(), None, "goes with the install");
    assert!(store.last_offer(&one, Some(&ada)).await.unwrap().is_none());

    assert!(store.remove_app(&one).await.unwrap());
    assert!(store.last_offer(&one, None).await.unwrap().is_none());
    assert!(store.find_app(&one).await.unwrap().is_none());
}
