//! How long a verdict stays valid.

use jiff::Timestamp;
use serde_json::json;
use toolyard_trust::{KeyEntry, verdict_validity};

use crate::fixture::{World, at, key, now, plugin, signed};

#[test]
fn without_dates_it_stands_for_ever() {
    let world = World::new();
    let manifest = signed(&plugin(), &key(1));
    assert_eq!(verdict_validity(&manifest, &world.context()), Timestamp::MIN..Timestamp::MAX);
}

/// Each date changes a verdict at exactly that time, and nothing changes within a span.
#[test]
fn every_verdict_within_a_span_is_the_same_one() {
    let mut plugin = plugin();
    plugin["expiresAt"] = json!("2026-08-01T00:00:00Z");
    let manifest = signed(&plugin, &key(1));
    let dated = |member: fn(&mut World) -> &mut Option<Timestamp>, date: &str| {
        let mut world = World::new();
        *member(&mut world) = Some(at(date));
        world
    };
    let worlds = [
        World::new(),
        dated(|world| &mut world.keys.expires_at, "2026-07-01"),
        dated(|world| &mut world.revocations.expires_at, "2026-07-01"),
        dated(|world| &mut world.keys.keys[0].not_before, "2026-05-01"),
        dated(|world| &mut world.keys.keys[0].expires_at, "2026-07-01"),
        dated(|world| &mut world.keys.keys[0].revoked_at, "2026-07-01"),
    ];
    for (number, mut world) in worlds.into_iter().enumerate() {
        world.now = now();
        let (span, first) = (verdict_validity(&manifest, &world.context()), world.judge(&manifest));
        assert!(first.runs && span.contains(&now()), "{number}: {}", first.reason);
        assert!(span.end <= at("2026-08-01"), "the plugin itself runs out");
        let moment = jiff::SignedDuration::from_millis(1);
        for inside in [span.start.max(at("2020-01-01")), now(), span.end.checked_sub(moment).unwrap()] {
            world.now = inside;
            assert_eq!(world.judge(&manifest), first, "{number}: {inside}");
            assert_eq!(verdict_validity(&manifest, &world.context()), span, "{number}: {inside}");
        }
        world.now = span.end;
        assert_ne!(world.judge(&manifest).status, first.status, "{number}: at {}", span.end);
        if span.start > Timestamp::MIN {
            world.now = span.start.checked_sub(moment).unwrap();
            assert_ne!(world.judge(&manifest).status, first.status, "{number}: before {}", span.start);
        }
    }
}

#[test]
fn dates_of_other_keys_only_make_it_shorter() {
    let mut world = World::new();
    let other = KeyEntry { expires_at: Some(at("2026-06-02")), ..KeyEntry::new(key(5).public_key(), "Bob") };
    world.keys.keys.push(other);
    assert_eq!(
        verdict_validity(&signed(&plugin(), &key(1)), &world.context()),
        Timestamp::MIN..at("2026-06-02")
    );
}
