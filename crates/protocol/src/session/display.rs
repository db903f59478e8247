//! Content that apps show.
//!
//! An app sends a layout for a view. When and whether the device shows it is decided elsewhere.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use serde_json::{Map, Value};

use super::time::read_millis;

/// A view of the device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DisplayView {
    /// The dashboard.
    Dashboard,
    /// The view of the foreground app. An unknown view counts as this one.
    #[default]
    #[serde(other)]
    Main,
}

/// The content of a view.
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
    /// Two texts, one above the other.
    DoubleTextWall {
        /// The upper text.
        top_text: String,
        /// The lower text.
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
        /// The left text.
        left_text: String,
        /// The right text.
        right_text: String,
    },
    /// A bitmap.
    BitmapView {
        /// A BMP in base64.
        data: String,
    },
    /// An animation of bitmaps.
    BitmapAnimation {
        /// BMPs in base64.
        frames: Vec<String>,
        /// How long each is shown, in milliseconds.
        #[serde(default, deserialize_with = "read_millis", skip_serializing_if = "Option::is_none")]
        interval: Option<u64>,
        /// Whether the animation repeats.
        #[serde(default)]
        repeat: bool,
    },
    /// Clears the view.
    ClearView,
    /// An unknown layout, as received.
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
    /// The view.
    #[serde(default)]
    pub view: DisplayView,
    /// The layout.
    pub layout: Layout,
    /// How long, in milliseconds; if missing, until it is replaced.
    #[serde(default, deserialize_with = "read_millis", skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Whether to show it at once, without waiting for a free slot.
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
