//! Checks of the identity providers at which people sign in.

use toolyard_server::{ServerDependencies, check_issuers};

use super::DoctorCheck;
use crate::config::{ConfigArgs, env_variables};

/// Empty if there are none, or the configuration cannot be read: another check says so.
pub(super) async fn issuer_checks(args: &ConfigArgs) -> Vec<DoctorCheck> {
    let Ok(config) = args.load_config(Vec::new()) else { return Vec::new() };
    let deps = ServerDependencies::with_environment(&env_variables().collect::<Vec<_>>());
    let checked = match check_issuers(&config, &deps).await {
        Ok(checked) => checked,
        Err(error) => {
            let next = "set the variable for the server as well, or remove `client_secret_env`";
            return vec![DoctorCheck::fail("identity providers", error.to_string(), next)];
        }
    };
    let check = |(id, answered): (String, Result<(), String>)| {
        let name = format!("identity provider {id}");
        match answered {
            Ok(()) => DoctorCheck::ok(&name, "its discovery document names the configured issuer"),
            Err(why) => {
                let next = "correct `issuer` in its `[[sign_in.issuers]]`; on a private network or this machine, set \
                            `allow_private_network = true`";
                DoctorCheck::fail(&name, why, next)
            }
        }
    };
    checked.into_iter().map(check).collect()
}
