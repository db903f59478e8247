//! `/api/devices`: the models of glasses that the platform knows.

use http::Method;
use schemars::JsonSchema;
use serde::Serialize;
use toolyard_protocol::device::{Capabilities, all_profiles};

use super::{HandlerResult, ok_json};
use crate::routes::{Route, RouteAccess};

pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/api/devices",
            RouteAccess::Public,
            "Every model of glasses that the platform knows, and what it can do",
            list_devices,
        )
        .response_body::<DeviceModelList>(),
    ]
}

/// The models that the platform knows, in a fixed order.
#[derive(Serialize, JsonSchema)]
struct DeviceModelList {
    models: Vec<Capabilities>,
}

async fn list_devices() -> HandlerResult {
    ok_json(&DeviceModelList { models: all_profiles().iter().map(|profile| (**profile).clone()).collect() })
}
