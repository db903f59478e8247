//! Users' settings, and what apps store for users.

mod app_data;
mod app_settings;
mod platform_settings;

pub use self::{
    app_data::{read_app_data, remove_app_data, write_app_data},
    app_settings::set_app_settings,
    platform_settings::{PlatformSettingsUpdate, set_platform_settings},
};
