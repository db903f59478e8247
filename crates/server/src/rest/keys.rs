//! Keys and signing secrets of an app, made anew.

use axum::extract::State;
use http::Method;
use sha2::{Digest, Sha256};
use toolyard_core::ports::{AppChange, Change};
use toolyard_protocol::api::{NewKey, NewSecret};

use super::{Answer, apps::owned, ok, package};
use crate::{
    auth::{Builder, Identity, Refusal},
    error::Failure,
    extract::Path,
    routes::{Access, Route},
    state::AppState,
};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(Method::POST, "/api/apps/{package}/key", Access::Owner, "A new API key; the old one is void", key)
            .gives::<NewKey>(),
        Route::new(
            Method::POST,
            "/api/apps/{package}/secret",
            Access::Owner,
            "A new signing secret; requests carry signatures of the old and the new one until the next rotation",
            secret,
        )
        .gives::<NewSecret>(),
    ]
}

fn not_the_app(who: &Identity) -> Result<(), Failure> {
    match who {
        Identity::App(_) => Err(Refusal::Forbidden("an app cannot rotate its own credentials").into()),
        Identity::Person { .. } => Ok(()),
    }
}

async fn key(State(state): State<AppState>, Builder(who): Builder, Path(name): Path<String>) -> Answer {
    let app = owned(&state, &who, &package(&name)?).await?;
    not_the_app(&who)?;
    let api_key = state.ids.secret();
    let change = AppChange::Key(Sha256::digest(api_key.as_bytes()).into());
    state.stores.apps.change(&app.package, change, state.clock.now()).await?;
    state.signals.publish(Change::App(app.package));
    ok(&NewKey { api_key })
}

async fn secret(State(state): State<AppState>, Builder(who): Builder, Path(name): Path<String>) -> Answer {
    let app = owned(&state, &who, &package(&name)?).await?;
    not_the_app(&who)?;
    let signing_secret = state.ids.secret();
    let before = app.keys().and_then(|keys| keys.signing.first().cloned());
    let signing = std::iter::once(state.secrets.seal(&signing_secret)).chain(before).collect();
    state.stores.apps.change(&app.package, AppChange::Signing(signing), state.clock.now()).await?;
    state.signals.publish(Change::App(app.package));
    ok(&NewSecret { signing_secret })
}
