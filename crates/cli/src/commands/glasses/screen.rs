//! Draws what the glasses show as a box of text.

use toolyard_protocol::session::{DisplayView, Layout, device_messages::DeviceDisplay};

use crate::text;

/// Characters in a line, about as many as real glasses show.
const WIDTH: usize = 44;
/// Most lines in a box; an app may send any number.
const MAX_LINES: usize = 20;

/// Draws a display message.
pub(super) fn draw_display(display: &DeviceDisplay) -> String {
    let view = match display.view {
        DisplayView::Main => "",
        DisplayView::Dashboard => ", dashboard",
    };
    let duration = display.duration_ms.map(|ms| format!(", for {} ms", ms)).unwrap_or_default();
    let title = text::truncate_text(&format!("{}{view}{duration}", display.package_name), WIDTH - 2);
    frame_lines(&title, &layout_lines(&display.layout))
}

fn layout_lines(layout: &Layout) -> Vec<String> {
    let rule = || "─".repeat(WIDTH);
    match layout {
        Layout::TextWall { text } => wrap_text(text),
        Layout::DoubleTextWall { top_text, bottom_text } => {
            [wrap_text(top_text), vec![rule()], wrap_text(bottom_text)].concat()
        }
        Layout::ReferenceCard { title, text } => [wrap_text(title), vec![rule()], wrap_text(text)].concat(),
        Layout::DashboardCard { left_text, right_text } => wrap_text(&format!("{left_text} | {right_text}")),
        Layout::BitmapView { data } => vec![format!("(image, {} bytes)", data.len() / 4 * 3)],
        Layout::BitmapAnimation { frames, .. } => vec![format!("(animation, {} images)", frames.len())],
        Layout::ClearView => vec!["(cleared)".to_owned()],
        Layout::Unknown(fields) => {
            let kind = fields.get("layoutType").and_then(|kind| kind.as_str()).unwrap_or("?");
            wrap_text(&format!("(unknown layout: {kind})"))
        }
    }
}

/// Wraps a text to the width of the box.
fn wrap_text(text: &str) -> Vec<String> {
    text.lines().flat_map(|line| wrap_line(&text::sanitize_line(line))).collect()
}

fn wrap_line(line: &str) -> Vec<String> {
    let (mut lines, mut current) = (Vec::new(), String::new());
    for word in line.split(' ') {
        let mut word: Vec<char> = word.chars().collect();
        let used = current.chars().count();
        if used > 0 && used + 1 + word.len() > WIDTH {
            lines.push(std::mem::take(&mut current));
        } else if used > 0 {
            current.push(' ');
        }
        while word.len() > WIDTH {
            lines.push(word.drain(..WIDTH).collect());
        }
        current.extend(word);
    }
    lines.push(current);
    lines
}

fn frame_lines(title: &str, lines: &[String]) -> String {
    let top = format!("┌ {title} {}┐", "─".repeat(WIDTH - title.chars().count()));
    let mut lines = lines.to_vec();
    if lines.len() > MAX_LINES {
        lines.truncate(MAX_LINES - 1);
        lines.push("…".to_owned());
    }
    let body = lines.iter().map(|line| format!("│ {line:<WIDTH$} │"));
    let bottom = format!("└{}┘", "─".repeat(WIDTH + 2));
    std::iter::once(top).chain(body).chain([bottom]).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn display(layout: Layout) -> DeviceDisplay {
        let package_name = "com.example.todo".parse().unwrap();
        DeviceDisplay { package_name, view: DisplayView::Main, layout, duration_ms: None, timestamp: None }
    }

    #[test]
    fn a_text_is_drawn_in_a_frame() {
        let drawn = draw_display(&display(Layout::TextWall { text: "1. buy milk\n2. call Bob".to_owned() }));
        let expected = "\
┌ com.example.todo ────────────────────────────┐
│ 1. buy milk                                  │
│ 2. call Bob                                  │
└──────────────────────────────────────────────┘";
        assert_eq!(drawn, expected);
    }

    #[test]
    fn every_line_of_every_layout_is_as_wide_as_the_frame() {
        let long = "word ".repeat(30) + &"x".repeat(100) + "\u{1b}[2J\ttab";
        for layout in [
            Layout::TextWall { text: long.clone() },
            Layout::DoubleTextWall { top_text: long.clone(), bottom_text: "b".into() },
            Layout::ReferenceCard { title: long.clone(), text: String::new() },
            Layout::DashboardCard { left_text: "l".into(), right_text: long.clone() },
            Layout::BitmapView { data: "Qk0=".into() },
            Layout::ClearView,
            Layout::Unknown(serde_json::Map::new()),
        ] {
            let drawn = draw_display(&display(layout));
            assert!(drawn.lines().all(|line| line.chars().count() == WIDTH + 4), "{drawn}");
            assert!(!drawn.contains('\u{1b}'));
        }
    }

    #[test]
    fn a_dashboard_says_what_it_is_and_for_how_long() {
        let card =
            Layout::DashboardCard { left_text: "10:42\u{1b}[2J".to_owned(), right_text: "80 %".to_owned() };
        let dashboard =
            DeviceDisplay { view: DisplayView::Dashboard, duration_ms: Some(5_000), ..display(card) };
        let expected = "\
┌ com.example.todo, dashboard, for 5000 ms ────┐
│ 10:42 [2J | 80 %                             │
└──────────────────────────────────────────────┘";
        assert_eq!(draw_display(&dashboard), expected);
    }

    #[test]
    fn many_lines_are_truncated() {
        let drawn = draw_display(&display(Layout::TextWall { text: "x\n".repeat(1_000) }));
        assert_eq!(drawn.lines().count(), MAX_LINES + 2);
        assert!(drawn.contains("│ …"));
    }
}
