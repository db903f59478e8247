//! What apps show.
//!
//! An app sends a layout for a view; when and whether the device shows it is decided elsewhere.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use serde_json::{Map, Value};

use super::time::read_millis;

/// Where on the device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DisplayView {
    /// The screen of the dashboard.
    Dashboard,
    /// The screen of the app in front. A view that we do not know counts as this one.
    #[default]
    #[serde(other)]
    Main,
}

/// What is shown.
//
// `remote = "Self"` makes the derived functions plain ones, for the known layouts. Derived for all, a known layout with a
// missing text would pass as an unknown one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self", tag = "layoutType", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Layout {
    /// One text.
    TextWall {
        /// The text.
        text: String,
    },
    /// Two texts, one over the other.
    DoubleTextWall {
        /// The upper one.
        top_text: String,
        /// The lower one.
        bottom_text: String,
    },
    /// A text with a title.
    ReferenceCard {
        /// The title.
        title: String,
        /// The text.
        text: String,
    },
    /// Two texts, side by side.
    DashboardCard {
        /// The left one.
        left_text: String,
        /// The right one.
        right_text: String,
    },
    /// A picture.
    BitmapView {
        /// A BMP in base64.
        data: String,
    },
    /// Pictures in turn.
    BitmapAnimation {
        /// BMPs in base64.
        frames: Vec<String>,
        /// How long each is shown, in milliseconds.
        #[serde(default, deserialize_with = "read_millis", skip_serializing_if = "Option::is_none")]
        interval: Option<u64>,
        /// Whether it starts anew at the end.
        #[serde(default)]
        repeat: bool,
    },
    /// Nothing.
    ClearView,
    /// A layout that we do not know, as it came.
    #[serde(skip)]
    Unknown(Map<String, Value>),
}

impl Serialize for Layout {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unknown(fields) => fields.serialize(to),
            known => Self::serialize(known, to),
        }
    }
}

impl<'de> Deserialize<'de> for Layout {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let fields = Map::deserialize(from)?;
        let kind = fields.get("layoutType").and_then(Value::as_str);
        match kind.ok_or_else(|| D::Error::custom("expected a text in `layoutType`"))? {
            "text_wall" | "double_text_wall" | "reference_card" | "dashboard_card" | "bitmap_view"
            | "bitmap_animation" | "clear_view" => {
                Self::deserialize(Value::Object(fields)).map_err(D::Error::custom)
            }
            _ => Ok(Self::Unknown(fields)),
        }
    }
}

/// `display_event` from an app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DisplayEvent {
    /// Where.
    #[serde(default)]
    pub view: DisplayView,
    /// What.
    pub layout: Layout,
    /// For how long, in milliseconds; until something else comes, where it is not said.
    #[serde(default, deserialize_with = "read_millis", skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Whether it may not wait for the next free moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub force_display: Option<bool>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn layouts_come_back_as_they_went() {
        for layout in [
            json!({ "layoutType": "text_wall", "text": "Todo app ready" }),
            json!({ "layoutType": "double_text_wall", "topText": "a", "bottomText": "b" }),
            json!({ "layoutType": "reference_card", "title": "Todos", "text": "2 open" }),
            json!({ "layoutType": "dashboard_card", "leftText": "a", "rightText": "b" }),
            json!({ "layoutType": "bitmap_view", "data": "Qk0=" }),
            json!({ "layoutType": "bitmap_animation", "frames": ["Qk0="], "interval": 1650, "repeat": true }),
            json!({ "layoutType": "clear_view" }),
            json!({ "layoutType": "hologram", "z": [1, 2], "a": null }),
        ] {
            let read: Layout = serde_json::from_value(layout.clone()).unwrap();
            assert_eq!(matches!(read, Layout::Unknown(_)), layout["layoutType"] == "hologram");
            assert_eq!(serde_json::to_string(&read).unwrap(), layout.to_string());
        }
    }

    #[test]
    fn a_known_layout_must_be_whole() {
        for (layout, told) in [
            (json!({ "layoutType": "text_wall" }), "missing field `text`"),
            (
                json!({ "layoutType": "reference_card", "title": 1, "text": "" }),
                "invalid type: integer `1`, expected a string",
            ),
            (json!({ "text": "x" }), "expected a text in `layoutType`"),
        ] {
            assert_eq!(serde_json::from_value::<Layout>(layout).unwrap_err().to_string(), told);
        }
    }

    #[test]
    fn a_view_is_main_unless_it_says_dashboard() {
        for (view, read) in [
            (json!("main"), DisplayView::Main),
            (json!("dashboard"), DisplayView::Dashboard),
            (json!("moon"), DisplayView::Main),
        ] {
            assert_eq!(serde_json::from_value::<DisplayView>(view).unwrap(), read);
        }
        let event: DisplayEvent =
            serde_json::from_value(json!({ "layout": { "layoutType": "clear_view" }, "durationMs": -1 }))
                .unwrap();
        assert_eq!((event.view, event.duration_ms), (DisplayView::Main, None));
    }
}
