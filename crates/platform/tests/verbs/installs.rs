use serde_json::{Map, json};
use toolyard_core::{catalog::ViewScope, ports::Change};
use toolyard_platform::{
    PlatformError, apps, installs,
    settings::{self, PlatformSettingsUpdate},
};
use toolyard_protocol::{PackageName, ToolName, api::Role};

use crate::fixture::{Fixture, for_user, person, refusal};

async fn with_app() -> (Fixture, PackageName) {
    let f = Fixture::start().await;
    let tool = json!({ "name": "echo", "description": "Echoes", "inputSchema": { "type": "object" } });
    let app = json!({ "packageName": "com.a", "name": "A", "tools": [tool],
        "settings": [{ "key": "loud", "type": "toggle" }] });
    let app = serde_json::from_value(app).unwrap();
    apps::register(&f.platform, &person("dora", Role::Developer), app).await.unwrap();
    f.announced();
    (f, "com.a".parse().unwrap())
}

#[tokio::test]
async fn what_is_installed_is_seen_and_what_is_uninstalled_is_not() {
    let (f, app) = with_app().await;
    let (ada, user) = (for_user("ada"), "ada".parse().unwrap());
    let tools = async || f.platform.catalog.view(&user, ViewScope::Everything).await.unwrap().tools().count();
    assert_eq!(tools().await, 0);
    installs::install(&f.platform, &ada, &app).await.unwrap();
    assert_eq!(tools().await, 1);
    assert_eq!(f.announced(), [Change::ViewChanged(user.clone())]);
    let missing = refusal(installs::install(&f.platform, &ada, &"com.none".parse().unwrap()).await);
    assert!(matches!(missing, PlatformError::NotFound(_)), "{missing}");
    installs::uninstall(&f.platform, &ada, &app).await.unwrap();
    assert_eq!(f.announced(), [Change::AppUninstalled { user: user.clone(), package: app.clone() }]);
    assert_eq!(tools().await, 0);
    assert!(matches!(
        refusal(installs::uninstall(&f.platform, &ada, &app).await),
        PlatformError::NotFound(_)
    ));
}

#[tokio::test]
async fn only_a_tool_that_is_there_is_switched_off() {
    let (f, app) = with_app().await;
    let (ada, tool): (_, ToolName) = (for_user("ada"), "com.a:echo".parse().unwrap());
    refusal(installs::switch_tool(&f.platform, &ada, &tool, false).await);
    installs::install(&f.platform, &ada, &app).await.unwrap();
    installs::switch_tool(&f.platform, &ada, &tool, false).await.unwrap();
    let view = f.platform.catalog.view(&ada.user, ViewScope::Everything).await.unwrap();
    assert_eq!((view.tools().count(), view.hidden_tools().count()), (0, 1));
    installs::switch_tool(&f.platform, &ada, &tool, true).await.unwrap();
    refusal(installs::switch_tool(&f.platform, &ada, &"com.a:none".parse().unwrap(), false).await);
}

#[tokio::test]
async fn settings_belong_to_installed_apps_and_are_checked() {
    let (f, app) = with_app().await;
    let ada = for_user("ada");
    let values = |key: &str| Map::from_iter([(key.to_owned(), json!(true))]);
    let missing = refusal(settings::set_app_settings(&f.platform, &ada, &app, values("loud")).await);
    assert!(matches!(missing, PlatformError::NotFound(_)), "{missing}");
    installs::install(&f.platform, &ada, &app).await.unwrap();
    f.announced();
    let unknown = refusal(settings::set_app_settings(&f.platform, &ada, &app, values("quiet")).await);
    assert!(unknown.to_string().contains("quiet"), "{unknown}");
    settings::set_app_settings(&f.platform, &ada, &app, values("loud")).await.unwrap();
    assert_eq!(f.announced(), [Change::AppSettingsChanged { user: ada.user.clone(), package: app }]);
    let zone =
        |zone: &str| PlatformSettingsUpdate { user_timezone: Some(zone.to_owned()), ..Default::default() };
    refusal(settings::set_platform_settings(&f.platform, &ada, zone("Europe/Nowhere")).await);
    let set = settings::set_platform_settings(&f.platform, &ada, zone("Europe/London")).await.unwrap();
    assert_eq!(set.user_timezone.as_deref(), Some("Europe/London"));
    assert_eq!(f.announced(), [Change::PlatformSettingsChanged(ada.user.clone())]);
}

#[tokio::test]
async fn an_app_stores_for_users_who_installed_it() {
    let (f, app) = with_app().await;
    let (ada, dora) = (for_user("ada"), person("dora", Role::Developer));
    let key = toolyard_platform::Actor::App(f.platform.catalog.find_app(&app).await.unwrap().unwrap());
    let entry = |value: &str| Map::from_iter([("k".to_owned(), json!(value))]);
    let stranger = refusal(settings::write_app_data(&f.platform, &key, &ada.user, entry("v")).await);
    assert!(matches!(stranger, PlatformError::NotFound(_)), "{stranger}");
    installs::install(&f.platform, &ada, &app).await.unwrap();
    settings::write_app_data(&f.platform, &key, &ada.user, entry("v")).await.unwrap();
    let large =
        refusal(settings::write_app_data(&f.platform, &key, &ada.user, entry(&"x".repeat(102_400))).await);
    assert!(matches!(large, PlatformError::TooLarge(_)), "{large}");
    assert_eq!(settings::read_app_data(&f.platform, &key, &ada.user).await.unwrap(), entry("v"));
    refusal(settings::read_app_data(&f.platform, &dora, &ada.user).await);
    settings::remove_app_data(&f.platform, &key, &ada.user, None).await.unwrap();
    assert!(settings::read_app_data(&f.platform, &key, &ada.user).await.unwrap().is_empty());
}
