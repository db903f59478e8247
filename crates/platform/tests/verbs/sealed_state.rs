//! State that others carry: for one purpose, for a time, once.

use jiff::SignedDuration;
use toolyard_platform::sealed_state::{SealPurpose, seal, unseal};

use crate::fixture::Fixture;

const PURPOSES: [SealPurpose; 5] = [
    SealPurpose::SignInLink,
    SealPurpose::PasskeySignIn,
    SealPurpose::PasskeyRegistration,
    SealPurpose::IssuerSignIn,
    SealPurpose::ConsentRequest,
];

#[tokio::test]
async fn a_text_for_one_purpose_is_worthless_for_another() {
    let f = Fixture::start().await;
    let platform = &f.platform;
    let until = platform.clock.now() + SignedDuration::from_secs(60);
    for made_for in PURPOSES {
        let text = seal(platform, made_for, until, "data").unwrap();
        for used_for in PURPOSES {
            let opened = unseal::<String>(platform, used_for, &text).map(|opened| opened.data);
            assert_eq!(opened.is_some(), made_for == used_for, "{made_for:?} as {used_for:?}");
        }
        assert!(unseal::<u64>(platform, made_for, &text).is_none(), "of another shape");
    }
}

#[tokio::test]
async fn a_text_ends_and_can_be_used_once() {
    let f = Fixture::start().await;
    let platform = &f.platform;
    let purpose = SealPurpose::SignInLink;
    let until = |seconds| platform.clock.now() + SignedDuration::from_secs(seconds);
    let over = seal(platform, purpose, until(0), "data").unwrap();
    assert!(unseal::<String>(platform, purpose, &over).is_none());
    let text = seal(platform, purpose, until(1), "data").unwrap();
    let opened = unseal::<String>(platform, purpose, &text).unwrap();
    assert_eq!(opened.until().as_second(), until(1).as_second());
    assert!(opened.use_once(platform).await.unwrap());
    let again = unseal::<String>(platform, purpose, &text).unwrap();
    assert!(!again.use_once(platform).await.unwrap());
    for forged in ["", "%", "AAAA"] {
        assert!(unseal::<String>(platform, purpose, forged).is_none());
    }
}
