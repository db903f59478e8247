//! The known device models, by their exact names.
//!
//! A model without an entry has no profile, so nothing is filtered. "Brilliant Frame" is such a model.

use std::sync::{Arc, LazyLock};

use super::{
    capabilities::{
        Button, Buttons, Camera, Capabilities, Display, FieldOfView, Imu, Light, Lights, Microphone,
        Resolution, Speaker, Video,
    },
    hardware::NO_GLASSES,
};

static PROFILES: LazyLock<Vec<Arc<Capabilities>>> = LazyLock::new(|| {
    let all = [
        even_realities("Even Realities G1", None),
        even_realities("Even Realities G2", Some(touch_bar())),
        even_realities("Mentra Display", None),
        mentra_live(),
        vuzix("Vuzix Z100"),
        vuzix("Mentra Mach1"),
        simulated_glasses(),
        no_glasses(),
    ];
    all.into_iter().map(Arc::new).collect()
});

/// The profile of a model, by its exact name.
pub fn find_profile(model_name: &str) -> Option<Arc<Capabilities>> {
    PROFILES.iter().find(|profile| profile.model_name == model_name).cloned()
}

/// Every profile, in a fixed order.
pub fn all_profiles() -> &'static [Arc<Capabilities>] {
    &PROFILES
}

/// The names of all models with a profile.
pub fn profile_names() -> impl Iterator<Item = &'static str> {
    PROFILES.iter().map(|profile| profile.model_name.as_str())
}

/// Two green displays, one microphone. The Mentra Display has the same form.
fn even_realities(model_name: &str, button: Option<Buttons>) -> Capabilities {
    Capabilities {
        model_name: model_name.to_owned(),
        has_display: true,
        display: Some(Display {
            count: Some(2),
            is_color: Some(false),
            color: Some("green".to_owned()),
            can_display_bitmap: Some(true),
            resolution: Some(Resolution { width: 640, height: 200 }),
            field_of_view: Some(FieldOfView { horizontal: Some(25.into()), vertical: None }),
            max_text_lines: Some(5),
            adjust_brightness: Some(true),
        }),
        has_microphone: true,
        microphone: Some(Microphone { count: Some(1), has_vad: Some(false) }),
        has_imu: true,
        has_button: button.is_some(),
        button,
        ..Capabilities::default()
    }
}

fn touch_bar() -> Buttons {
    one_button("swipe1d", &["TAP", "DOUBLE_TAP", "TRIPLE_TAP", "PRESS_HOLD", "SWIPE_UP", "SWIPE_DOWN"], true)
}

fn vuzix(model_name: &str) -> Capabilities {
    Capabilities {
        model_name: model_name.to_owned(),
        has_display: true,
        display: Some(small_display()),
        ..Capabilities::default()
    }
}

fn mentra_live() -> Capabilities {
    Capabilities {
        model_name: "Mentra Live".to_owned(),
        has_camera: true,
        camera: Some(Camera {
            resolution: Some(Resolution { width: 1920, height: 1080 }),
            has_hdr: Some(false),
            has_focus: Some(true),
            video: Video {
                can_record: true,
                can_stream: true,
                supported_stream_types: Some(vec!["rtmp".to_owned()]),
                supported_resolutions: Some(vec![
                    Resolution { width: 1920, height: 1080 },
                    Resolution { width: 1280, height: 720 },
                    Resolution { width: 640, height: 480 },
                ]),
            },
        }),
        has_microphone: true,
        microphone: Some(Microphone { count: Some(1), has_vad: Some(true) }),
        has_speaker: true,
        speaker: Some(Speaker { count: Some(1), is_private: Some(false) }),
        has_imu: true,
        imu: Some(Imu {
            axis_count: Some(6),
            has_accelerometer: Some(true),
            has_compass: Some(false),
            has_gyroscope: Some(true),
        }),
        has_button: true,
        button: Some(one_button("press", &["press", "double_press", "long_press"], false)),
        has_light: true,
        light: Some(Lights {
            count: Some(2),
            lights: Some(vec![
                light("privacy", false, "white", "front_facing"),
                light("user_feedback", true, "rgb", "user_facing"),
            ]),
        }),
        has_wifi: true,
        ..Capabilities::default()
    }
}

/// A display on the phone's screen, with the phone's microphone and speaker.
fn simulated_glasses() -> Capabilities {
    Capabilities {
        model_name: "Simulated Glasses".to_owned(),
        has_display: true,
        display: Some(small_display()),
        has_microphone: true,
        microphone: Some(Microphone { count: Some(1), has_vad: Some(false) }),
        has_speaker: true,
        speaker: Some(Speaker { count: Some(1), is_private: Some(false) }),
        has_button: true,
        button: Some(one_button("press", &["press"], false)),
        ..Capabilities::default()
    }
}

/// The vendor's profile keeps the objects of the simulated glasses here; apps that read them get the same from us.
fn no_glasses() -> Capabilities {
    Capabilities {
        model_name: NO_GLASSES.to_owned(),
        has_display: false,
        has_microphone: false,
        has_speaker: false,
        has_button: false,
        ..simulated_glasses()
    }
}

fn small_display() -> Display {
    Display {
        count: Some(1),
        is_color: Some(false),
        color: Some("green".to_owned()),
        can_display_bitmap: Some(false),
        resolution: Some(Resolution { width: 640, height: 480 }),
        field_of_view: Some(FieldOfView { horizontal: Some(30.into()), vertical: None }),
        max_text_lines: Some(7),
        adjust_brightness: Some(true),
    }
}

fn one_button(kind: &str, events: &[&str], is_capacitive: bool) -> Buttons {
    let events = events.iter().map(|event| (*event).to_owned()).collect();
    let button = Button { kind: kind.to_owned(), events, is_capacitive: Some(is_capacitive) };
    Buttons { count: Some(1), buttons: Some(vec![button]) }
}

fn light(id: &str, is_full_color: bool, color: &str, position: &str) -> Light {
    Light {
        id: id.to_owned(),
        purpose: id.to_owned(),
        is_full_color,
        color: Some(color.to_owned()),
        position: Some(position.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a real cloud sends them to a real app, byte for byte.
    const G1: &str = r#"{"modelName":"Even Realities G1","hasCamera":false,"camera":null,"hasDisplay":true,"display":{"count":2,"isColor":false,"color":"green","canDisplayBitmap":true,"resolution":{"width":640,"height":200},"fieldOfView":{"horizontal":25},"maxTextLines":5,"adjustBrightness":true},"hasMicrophone":true,"microphone":{"count":1,"hasVAD":false},"hasSpeaker":false,"speaker":null,"hasIMU":true,"imu":null,"hasButton":false,"button":null,"hasLight":false,"light":null,"power":{"hasExternalBattery":false},"hasWifi":false}"#;
    const LIVE: &str = r#"{"modelName":"Mentra Live","hasCamera":true,"camera":{"resolution":{"width":1920,"height":1080},"hasHDR":false,"hasFocus":true,"video":{"canRecord":true,"canStream":true,"supportedStreamTypes":["rtmp"],"supportedResolutions":[{"width":1920,"height":1080},{"width":1280,"height":720},{"width":640,"height":480}]}},"hasDisplay":false,"display":null,"hasMicrophone":true,"microphone":{"count":1,"hasVAD":true},"hasSpeaker":true,"speaker":{"count":1,"isPrivate":false},"hasIMU":true,"imu":{"axisCount":6,"hasAccelerometer":true,"hasCompass":false,"hasGyroscope":true},"hasButton":true,"button":{"count":1,"buttons":[{"type":"press","events":["press","double_press","long_press"],"isCapacitive":false}]},"hasLight":true,"light":{"count":2,"lights":[{"id":"privacy","purpose":"privacy","isFullColor":false,"color":"white","position":"front_facing"},{"id":"user_feedback","purpose":"user_feedback","isFullColor":true,"color":"rgb","position":"user_facing"}]},"power":{"hasExternalBattery":false},"hasWifi":true}"#;

    #[test]
    fn profiles_are_byte_for_byte_the_real_ones() {
        for (model, text) in [("Even Realities G1", G1), ("Mentra Live", LIVE)] {
            let ours = find_profile(model).unwrap();
            assert_eq!(serde_json::to_string(&ours).unwrap(), text);
            assert_eq!(serde_json::from_str::<Capabilities>(text).unwrap(), *ours);
        }
    }

    /// One row per model: camera, display, microphone, speaker, IMU, button, light, Wi-Fi.
    #[test]
    fn the_table_of_models() {
        let rows: Vec<String> = PROFILES
            .iter()
            .map(|p| {
                let flags = [
                    p.has_camera,
                    p.has_display,
                    p.has_microphone,
                    p.has_speaker,
                    p.has_imu,
                    p.has_button,
                    p.has_light,
                    p.has_wifi,
                ];
                let marks: String = flags.map(|flag| if flag { '+' } else { '-' }).iter().collect();
                format!("{marks} {}", p.model_name)
            })
            .collect();
        assert_eq!(
            rows,
            [
                "-++-+--- Even Realities G1",
                "-++-++-- Even Realities G2",
                "-++-+--- Mentra Display",
                "+-++++++ Mentra Live",
                "-+------ Vuzix Z100",
                "-+------ Mentra Mach1",
                "-+++-+-- Simulated Glasses",
                "-------- None",
            ]
        );
    }

    #[test]
    fn unknown_models_have_no_profile() {
        assert!(find_profile("Brilliant Frame").is_none());
        assert!(find_profile("even realities g1").is_none());
        assert_eq!(profile_names().count(), 8);
    }

    #[test]
    fn a_mach1_is_a_z100_under_its_own_name() {
        let renamed = Capabilities {
            model_name: "Mentra Mach1".to_owned(),
            ..(*find_profile("Vuzix Z100").unwrap()).clone()
        };
        assert_eq!(*find_profile("Mentra Mach1").unwrap(), renamed);
    }
}
