//! `/api/devices`: the supported models of glasses.

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
            "Every supported model of glasses and its capabilities",
            list_devices,
        )
        .response_body::<DeviceModelList>(),
    ]
}

/// The supported models, in a fixed order.
#[derive(Serialize, JsonSchema)]
struct DeviceModelList {
    models: Vec<Capabilities>,
}

async fn list_devices() -> HandlerResult {
    ok_json(&DeviceModelList { models: all_profiles().iter().map(|profile| (**profile).clone()).collect() })
}
