//! `/api/devices`: the models of glasses that the platform knows.

use http::Method;
use schemars::JsonSchema;
use serde::Serialize;
use toolyard_protocol::device::{Capabilities, profiles};

use super::{Answer, ok};
use crate::routes::{Access, Route};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/api/devices",
            Access::Public,
            "Every model of glasses that the platform knows, and what it can do",
            devices,
        )
        .gives::<Devices>(),
    ]
}

/// The models that the platform knows, in a fixed order.
#[derive(Serialize, JsonSchema)]
struct Devices {
    models: Vec<Capabilities>,
}

async fn devices() -> Answer {
    ok(&Devices { models: profiles().iter().map(|profile| (**profile).clone()).collect() })
}
