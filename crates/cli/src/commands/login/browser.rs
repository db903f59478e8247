//! Opens a page in the user's browser, where there is one.

use std::process::Stdio;

use tokio::process::Command;
use url::Url;

use crate::config;

/// Opens a page. Returns whether a browser was started; it may still fail to open the page.
pub(super) fn open_browser(url: &str) -> bool {
    let Some(url) = web_page(url) else { return false };
    if !has_screen(config::env_variables()) {
        return false;
    }
    let mut command = browser_command(url.as_str());
    // It must not write into our output or read what the user types.
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().is_ok()
}

/// The URL comes from the server: only a web page is opened, no file and no other program.
fn web_page(url: &str) -> Option<Url> {
    Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"))
}

/// Whether windows can be shown. Without one, `xdg-open` may start a browser in this terminal.
fn has_screen(variables: impl IntoIterator<Item = (String, String)>) -> bool {
    let is_screen = |name: &str| matches!(name, "DISPLAY" | "WAYLAND_DISPLAY");
    cfg!(any(target_os = "macos", windows))
        || variables.into_iter().any(|(name, value)| is_screen(&name) && !value.is_empty())
}

fn browser_command(url: &str) -> Command {
    let words: &[&str] = if cfg!(target_os = "macos") {
        &["open"]
    } else if cfg!(windows) {
        // Not `start`: that is a command of the shell, which would interpret the `&` in a URL.
        &["rundll32", "url.dll,FileProtocolHandler"]
    } else {
        &["xdg-open"]
    };
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).arg(url);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_web_pages_are_opened() {
        assert!(web_page("https://tools.example.com/console/device?code=BCDF-GHJK").is_some());
        for url in ["file:///etc/passwd", "javascript:alert(1)", "--help", "vscode://x", ""] {
            assert!(web_page(url).is_none(), "{url}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_terminal_without_a_screen_opens_nothing() {
        let variables = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect::<Vec<_>>()
        };
        assert!(has_screen(variables(&[("DISPLAY", ":0")])));
        assert!(has_screen(variables(&[("WAYLAND_DISPLAY", "wayland-0")])));
        assert!(!has_screen(variables(&[("DISPLAY", ""), ("TERM", "xterm")])));
    }
}
