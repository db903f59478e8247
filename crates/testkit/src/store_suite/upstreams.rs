//! MCP servers in the world.

use toolyard_core::ports::{NewUpstream, Offer, StoredOffer, UpstreamRecord, UpstreamWrite};
use toolyard_protocol::{UserId, upstream::UpstreamDetails};

use super::{Store, at, package, record};

fn upstream(name: &str, for_all: bool) -> NewUpstream {
    let details = UpstreamDetails {
        name: "U".to_owned(),
        url: Some("https://u.example/mcp".to_owned()),
        for_all,
        ..UpstreamDetails::default()
    };
    NewUpstream {
        package: package(name),
        owner: "op".to_owned(),
        upstream: UpstreamRecord { details, sealed: vec![1], managed: false, disabled: false },
        at: at(0),
        write: UpstreamWrite::Add,
        moved: false,
    }
}

/// Stored, changed, installed, removed with all that hangs on them; last offers and tokens.
pub async fn upstreams_are_packages_and_keep_their_last_offer(store: &impl Store) {
    let (one, ada): (_, UserId) = (package("mcp.one"), "ada".parse().unwrap());
    store.create(record("com.a", "ada", None)).await.unwrap();
    assert!(store.put_upstream(upstream("mcp.one", false)).await.unwrap());
    assert!(store.put_upstream(upstream("mcp.two", true)).await.unwrap());
    for write in [UpstreamWrite::Add, UpstreamWrite::Change, UpstreamWrite::Configure] {
        let over = NewUpstream { write, ..upstream("com.a", true) };
        assert!(!store.put_upstream(over).await.unwrap(), "an app stays an app");
    }
    let others = |write| NewUpstream { owner: "eve".to_owned(), write, ..upstream("mcp.one", true) };
    assert!(!store.put_upstream(others(UpstreamWrite::Add)).await.unwrap(), "the name is taken");
    assert!(!store.put_upstream(others(UpstreamWrite::Change)).await.unwrap(), "and somebody else's");
    assert_eq!(store.find(&one).await.unwrap().unwrap().owner, "op");

    let found = store.find(&one).await.unwrap().unwrap();
    assert_eq!((found.details.name.as_str(), found.keys()), ("U", None));
    assert_eq!(found.upstream(), Some(&upstream("mcp.one", false).upstream));
    assert_eq!(store.list(None).await.unwrap().len(), 1, "apps only");
    assert_eq!(store.upstreams().await.unwrap().len(), 2);
    assert_eq!(store.for_all().await.unwrap(), [package("mcp.two")]);
    let mut gone = upstream("mcp.two", true);
    (gone.upstream.disabled, gone.write) = (true, UpstreamWrite::Change);
    assert!(store.put_upstream(gone).await.unwrap());
    assert!(store.for_all().await.unwrap().is_empty());

    let offer = |hash: &str, seconds| StoredOffer {
        offer: Offer { incomplete: vec![hash.to_owned()], ..Offer::default() },
        hash: hash.to_owned(),
        at: at(seconds),
    };
    assert!(store.last_offer(&one, None).await.unwrap().is_none());
    assert!(store.keep_offer(&one, None, offer("h1", 1)).await.unwrap());
    assert!(store.keep_offer(&one, None, offer("h2", 2)).await.unwrap());
    assert!(store.keep_offer(&one, Some(&ada), offer("h3", 3)).await.unwrap());
    assert!(!store.keep_offer(&package("com.a"), None, offer("h", 3)).await.unwrap());
    let last = store.last_offer(&one, None).await.unwrap().unwrap();
    assert_eq!((last.hash.as_str(), last.at, last.offer.incomplete), ("h2", at(2), vec!["h2".to_owned()]));
    assert_eq!(store.last_offer(&one, Some(&ada)).await.unwrap().unwrap().hash, "h3");

    assert!(store.set_token(&one, &ada, Some(vec![7])).await.unwrap());
    assert!(!store.set_token(&package("mcp.none"), &ada, Some(vec![7])).await.unwrap());
    assert_eq!(store.token(&one, &ada).await.unwrap(), Some(vec![7]));
    assert_eq!(store.all_tokens().await.unwrap(), [(one.clone(), ada.clone(), vec![7])]);
    let moves = |moved| NewUpstream { write: UpstreamWrite::Change, moved, ..upstream("mcp.one", false) };
    assert!(store.put_upstream(moves(false)).await.unwrap());
    assert_eq!(store.token(&one, &ada).await.unwrap(), Some(vec![7]));
    assert!(store.put_upstream(moves(true)).await.unwrap());
    assert_eq!(store.token(&one, &ada).await.unwrap(), None, "a token is not for another place");
    assert!(store.set_token(&one, &ada, Some(vec![7])).await.unwrap());
    assert!(store.install(&ada, &one, at(4)).await.unwrap());
    assert!(store.uninstall(&ada, &one).await.unwrap());
    assert_eq!(store.token(&one, &ada).await.unwrap(), None, "goes with the install");
    assert!(store.last_offer(&one, Some(&ada)).await.unwrap().is_none());

    assert!(store.remove(&one).await.unwrap());
    assert!(store.last_offer(&one, None).await.unwrap().is_none());
    assert!(store.find(&one).await.unwrap().is_none());
}
