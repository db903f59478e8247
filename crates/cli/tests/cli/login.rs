//! `toolyard login` and `logout`: a person agrees in the browser, which these tests play over HTTP.

use std::path::{Path, PathBuf};

use http::{Request, StatusCode, header};
use serde_json::{Value, json};
use tokio::process::Command;
use toolyard_net::{ClientSettings, Guard, HttpClient};

use crate::fixture::{ADA, Ran, Running, Yard, ended, serve, toolyard};

/// A browser in which Ada is signed in.
struct Browser {
    http: HttpClient,
    url: String,
    /// Name and value of the header that says who she is.
    who: (&'static str, String),
}

impl Browser {
    fn new(url: &str, who: (&'static str, String)) -> Self {
        let http = HttpClient::new(Guard::unrestricted(), ClientSettings::default());
        Self { http, url: url.to_owned(), who }
    }

    /// In dev mode anyone is Ada.
    fn in_dev_mode(yard: &Yard) -> Self {
        Self::new(&yard.url, ("x-user-id", ADA.to_owned()))
    }

    /// Opens a one-time link.
    async fn open_link(url: &str, link: &str) -> Self {
        let mut browser = Self::new(url, ("x-nobody", "yet".to_owned()));
        let (_, code) = link.split_once("#code=").unwrap();
        let request =
            browser.request("POST", "/api/sign-in/link").body(body(&json!({ "code": code }))).unwrap();
        let response = browser.http.send(request).await.unwrap();
        assert_eq!(response.status, StatusCode::OK);
        let cookie = response.headers[header::SET_COOKIE].to_str().unwrap();
        browser.who = ("cookie", cookie.split(';').next().unwrap().to_owned());
        browser
    }

    fn request(&self, method: &str, path: &str) -> http::request::Builder {
        let request = Request::builder().method(method).uri(format!("{}{path}", self.url));
        let request = request.header(header::CONTENT_TYPE, "application/json");
        request.header("sec-fetch-site", "same-origin").header(self.who.0, &self.who.1)
    }

    async fn login_name(&self, code: &str) -> Value {
        let request = self.request("GET", &format!("/api/device-logins/{code}")).body(Default::default());
        let response = self.http.send(request.unwrap()).await.unwrap();
        let body = response.bytes(10_000).await.unwrap();
        serde_json::from_slice::<Value>(&body).unwrap()["name"].clone()
    }

    async fn answer(&self, code: &str, approve: bool) {
        let request = self.request("POST", &format!("/api/device-logins/{code}"));
        let request = request.body(body(&json!({ "approve": approve }))).unwrap();
        assert_eq!(self.http.send(request).await.unwrap().status, StatusCode::NO_CONTENT);
    }
}

fn body(json: &Value) -> http_body_util::Full<bytes::Bytes> {
    http_body_util::Full::from(json.to_string())
}

/// A command of a user with a home folder.
fn at_home(folder: &Path, args: &[&str]) -> Command {
    let mut command = toolyard(folder, args);
    command.env("HOME", folder);
    command
}

fn profile_file(folder: &Path) -> PathBuf {
    folder.join(".config/toolyard/profiles.json")
}

/// Starts a login and returns the code that it shows.
async fn start_login(command: Command) -> (Running, String) {
    let mut login = Running::start(command);
    let link = login.notes("/console/device?code=").await;
    let (_, code) = link.split_once("?code=").unwrap();
    login.notes(code).await;
    (login, code.to_owned())
}

/// Signs in and returns the last line.
async fn sign_in(browser: &Browser, command: Command) -> String {
    let (mut login, code) = start_login(command).await;
    browser.answer(&code, true).await;
    let signed_in = login.says("signed in to").await;
    assert_eq!(login.end().await, 0);
    signed_in
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn a_profile_from_login_to_logout() {
    let folder = tempfile::tempdir().unwrap();
    let operator = toolyard(folder.path(), &["token", "operator", "admin", "--data", "data"]);
    let operator = ended(operator).await.good().trim().to_owned();
    let (_server, url) = serve(folder.path(), "127.0.0.1:0", &["--auth", "token"]).await;
    let home = async |args: &[&str]| -> Ran { ended(at_home(folder.path(), args)).await };
    let with_token = ["--server", &url, "--token", &operator, "--json"];
    let added = home(&[&["users", "add", ADA, "--invite"], &with_token[..]].concat()).await.json();
    let browser = Browser::open_link(&url, added["link"]["url"].as_str().unwrap()).await;

    let args = ["login", "--server", &url, "--profile", "work", "--name", "my laptop", "--no-browser"];
    let (mut login, code) = start_login(at_home(folder.path(), &args)).await;
    assert_eq!(browser.login_name(&code).await, "my laptop");
    browser.answer(&code, true).await;
    let signed_in = login.says("signed in to").await;
    assert!(
        signed_in.starts_with(&format!("signed in to {url} as ada@example.com (user) until 2"))
            && signed_in.ends_with("profile `work`"),
        "{signed_in}"
    );
    assert_eq!(login.end().await, 0);
    let file = profile_file(folder.path());
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    let saved: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let token = saved["profiles"]["work"]["token"].as_str().unwrap().to_owned();

    // Commands use it without any flag.
    let me = home(&["whoami", "--json"]).await.json();
    assert_eq!(
        (&me["name"], &me["authentication"], &me["profile"], &me["server"]),
        (&json!(ADA), &json!("profile"), &json!("work"), &json!(url))
    );
    let listed = home(&["login", "ls"]).await.good();
    assert!(listed.contains("work") && listed.contains(&url) && listed.contains("default"), "{listed}");
    assert!(!listed.contains(&token) && !home(&["login", "ls", "--json"]).await.good().contains(&token));
    // A token on the command line wins, and an unknown profile is an error.
    let me = home(&["whoami", "--json", "--profile", "work", "--token", &operator]).await.json();
    assert_eq!((&me["name"], &me["authentication"]), (&json!("admin"), &json!("token")));
    assert_eq!(home(&["whoami", "--profile", "other"]).await.code, 2);
    // Another server does not get the token.
    let other = Yard::start().await;
    let elsewhere = home(&["whoami", "--json", "--profile", "work", "--server", &other.url]).await;
    assert!(elsewhere.err.contains("the token of profile `work` is not sent"), "{}", elsewhere.err);
    assert_eq!(elsewhere.json()["authentication"], "dev");
    let taken = home(&["login", "--profile", "work", "--server", &other.url]).await;
    assert_eq!(taken.code, 2, "the profile is for the first server: {taken:?}");

    // Others must not be able to read it.
    set_mode(&file, 0o644);
    let exposed = home(&["whoami"]).await.bad();
    assert!(exposed.contains("(mode 644)") && exposed.contains("chmod 600"), "{exposed}");
    home(&["completions", "bash"]).await.good();
    set_mode(&file, 0o600);

    let out = home(&["logout"]).await.good();
    assert_eq!(out, format!("removed profile `work` for {url}; its token is revoked\n"));
    assert!(home(&["login", "ls"]).await.good().starts_with("No profiles yet."));
    let revoked = home(&["whoami", "--server", &url, "--token", &token]).await.bad();
    assert!(revoked.contains("run `toolyard login`"), "{revoked}");
    assert_eq!(home(&["logout"]).await.code, 2);
}

#[tokio::test]
async fn a_login_that_is_refused_or_stopped_stores_nothing() {
    let yard = Yard::start().await;
    let browser = Browser::in_dev_mode(&yard);
    let command = |flags: &[&str]| {
        let login = ["login", "--server", &yard.url, "--no-browser"];
        at_home(yard.folder.path(), &[&login[..], flags].concat())
    };
    let (mut login, code) = start_login(command(&["--json"])).await;
    browser.answer(&code, false).await;
    let refused: Value = serde_json::from_str(&login.says("SIGN_IN_FAILED").await).unwrap();
    assert!(refused["error"]["next"].as_str().unwrap().contains("`toolyard login` again"), "{refused}");
    assert_eq!(login.end().await, 1);

    let (mut login, _) = start_login(command(&[])).await;
    login.signal("-INT").await;
    assert_eq!(login.end().await, 130);
    assert!(login.rest().await.contains("stopped before you were signed in"));
    assert!(!profile_file(yard.folder.path()).exists());

    let homeless = yard.run(&["login", "--no-browser"]).await;
    assert_eq!(homeless.code, 2);
    assert!(homeless.err.contains("set HOME or XDG_CONFIG_HOME"), "{}", homeless.err);
}

#[tokio::test]
async fn a_profile_of_a_server_that_is_gone_is_removed_locally() {
    let mut yard = Yard::start().await;
    let browser = Browser::in_dev_mode(&yard);
    let login = at_home(yard.folder.path(), &["login", "--server", &yard.url, "--no-browser"]);
    let signed_in = sign_in(&browser, login).await;
    let name = yard.url.trim_start_matches("http://").to_owned();
    assert!(signed_in.ends_with(&format!("profile `{name}`")), "{signed_in}");
    yard.server.kill().await;
    let run = async |args: &[&str]| -> Ran { ended(at_home(yard.folder.path(), args)).await };
    let kept = run(&["logout"]).await.bad();
    assert!(kept.contains("the token is not revoked") && kept.contains("logout --local"), "{kept}");
    assert!(run(&["login", "ls"]).await.good().contains(&name));
    let removed = run(&["logout", "--local", "--json"]).await.json();
    assert_eq!((&removed["profile"], &removed["token"]), (&json!(name), &json!("kept")));
    assert!(run(&["login", "ls"]).await.good().starts_with("No profiles yet."));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_browser_opens_the_page_with_the_code() {
    let yard = Yard::start().await;
    let opener = yard.file(
        "xdg-open",
        "#!/bin/sh\nprintf '%s' \"$1\" > \"$HOME/opened.new\"\nmv \"$HOME/opened.new\" \"$HOME/opened\"\n",
    );
    set_mode(&opener, 0o755);
    let mut command = at_home(yard.folder.path(), &["login", "--server", &yard.url]);
    command.env("DISPLAY", ":0").env("PATH", format!("{}:/usr/bin:/bin", yard.folder.path().display()));
    let signed_in = {
        let (mut login, code) = start_login(command).await;
        let browser = Browser::in_dev_mode(&yard);
        browser.answer(&code, true).await;
        let signed_in = login.says("signed in to").await;
        // The login takes seconds, so the page is open by now.
        let opened = std::fs::read_to_string(yard.folder.path().join("opened")).unwrap();
        assert!(opened.ends_with(&format!("/console/device?code={code}")), "{opened}");
        signed_in
    };
    assert!(signed_in.contains(ADA), "{signed_in}");
}
