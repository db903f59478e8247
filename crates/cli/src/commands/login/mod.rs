//! `toolyard login`: signs in to a server in the browser, and stores the token in a profile.

mod browser;
mod device;
mod device_name;
mod ls;

use clap::{Args, Subcommand};
use serde::Serialize;
use toolyard_protocol::{
    UserId,
    accounts::{DeviceLoginStarted, DeviceToken},
    api::Role,
};

use super::{
    CommandOutcome,
    logout::{revoke_token, token_id},
    token::parse_token_name,
};
use crate::{
    cli::CommandContext,
    client::ApiClient,
    connection::{DEFAULT_SERVER, is_same_server},
    error::CliError,
    output::RenderText,
    profiles::{Profile, ProfileName, ProfileStore, SavedProfiles},
    signals::SignalListener,
    text,
};

const HELP: &str = "\
It shows a code and opens a page of the server in your browser, where you sign in and confirm the code. The token is stored
in a file that only you can read, and later commands use it. It is sent to this server only.

The profile of the last login is the default. --profile or TOOLYARD_PROFILE choose another one; --server, --token and their
variables override it.

Examples:
  toolyard login
  toolyard login --server https://tools.example.com --profile work
  toolyard login --no-browser                           on a machine without a browser: open the link on another one
  toolyard login ls
  toolyard tools ls --profile work
  toolyard logout --profile work";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct LoginArgs {
    #[command(subcommand)]
    command: Option<LoginCommand>,
    /// What the server calls this token [default: `toolyard on` and the name of this machine]
    #[arg(long, value_name = "TEXT", value_parser = parse_token_name)]
    name: Option<String>,
    /// Do not open a browser; only print the link
    #[arg(long)]
    no_browser: bool,
}

#[derive(Debug, Subcommand)]
enum LoginCommand {
    /// List the profiles: server, user and expiry
    #[command(after_help = "Examples:\n  toolyard login ls")]
    Ls,
}

pub(crate) async fn run_login_command(
    cx: &CommandContext,
    args: LoginArgs,
) -> Result<CommandOutcome, CliError> {
    match args.command {
        Some(LoginCommand::Ls) => ls::list_profiles(cx),
        None => sign_in(cx, args).await,
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LoginOutput {
    profile: ProfileName,
    server: String,
    user_id: UserId,
    role: Role,
    expires_at: String,
}

impl RenderText for LoginOutput {
    fn render_text(&self) -> String {
        let Self { profile, server, user_id, role, expires_at } = self;
        let role = role.as_str();
        text::sanitize_line(&format!(
            "signed in to {server} as {user_id} ({role}) until {expires_at}; profile `{profile}`"
        ))
    }
}

async fn sign_in(cx: &CommandContext, args: LoginArgs) -> Result<CommandOutcome, CliError> {
    let store = cx.profile_store().ok_or_else(no_config_folder)?;
    let (server, profile) =
        choose_target(cx.server_flag(), cx.profile_name()?.as_ref(), &cx.saved_profiles()?)?;
    let client = ApiClient::new(&server, None, None)?;
    store.check_writable()?;
    if !server.starts_with("https:") && !client.is_on_loopback() {
        cx.output.print_note(&format!("warning: the connection to {server} is not encrypted; use https"));
    }
    let mut signals = SignalListener::new().map_err(CliError::Runtime)?;
    let signed_in = async {
        let name = args.name.unwrap_or_else(device_name::default_device_name);
        let login = device::start_login(&client, &name).await?;
        show_code(cx, &login, args.no_browser);
        device::wait_for_token(&client, &login).await
    };
    let token = tokio::select! {
        token = signed_in => token?,
        () = signals.next() => return Err(CliError::LoginStopped),
    };
    let output = save_profile(&store, profile, server, token).await?;
    if cx.token_flag().is_some() {
        cx.output.print_note(
            "--token and TOOLYARD_TOKEN override a profile; unset TOOLYARD_TOKEN to use this one",
        );
    }
    cx.output.print_result(&output)?;
    Ok(CommandOutcome::Success)
}

/// The server to sign in to, and the profile that the token is stored in.
fn choose_target(
    server: Option<&str>,
    named: Option<&ProfileName>,
    saved: &SavedProfiles,
) -> Result<(String, ProfileName), CliError> {
    // A named profile may be new.
    let present = match named {
        Some(name) => saved.profiles.get_key_value(name),
        None => saved.select(None)?,
    };
    let known = present.filter(|(_, profile)| server.is_none_or(|url| is_same_server(url, &profile.server)));
    let server = server.or(known.map(|(_, profile)| profile.server.as_str())).unwrap_or(DEFAULT_SERVER);
    let name = match named.or(known.map(|(name, _)| name)) {
        Some(name) => name.clone(),
        None => ProfileName::from_server(server).ok_or_else(|| {
            CliError::usage(
                format!("`{server}` gives no name for a profile"),
                "write the server like http://127.0.0.1:8787, and choose a name with --profile",
            )
        })?,
    };
    match saved.profiles.get(&name) {
        // Its token would be lost, and nobody could revoke it from here.
        Some(other) if !is_same_server(server, &other.server) => Err(CliError::usage(
            format!("profile `{name}` is for {}, not for {server}", other.server),
            format!("choose another name with --profile, or run `toolyard logout --profile {name}` first"),
        )),
        _ => Ok((server.to_owned(), name)),
    }
}

/// Shows the code and opens the page.
fn show_code(cx: &CommandContext, login: &DeviceLoginStarted, no_browser: bool) {
    let is_open = !no_browser && browser::open_browser(&login.url_with_code);
    let what = if is_open { "If your browser does not open, open this link" } else { "Open this link" };
    cx.output.print_note(&format!(
        "{what}:\n  {}\n\nCheck that it shows this code, or type it at {}:\n  {}\n\nWaiting until {}; press Ctrl-C to stop",
        text::sanitize_line(&login.url_with_code),
        text::sanitize_line(&login.url),
        text::sanitize_line(&login.user_code),
        text::sanitize_line(&login.expires_at),
    ));
}

/// Stores the token. If that fails, the token is revoked: nobody would know of it.
async fn save_profile(
    store: &ProfileStore,
    name: ProfileName,
    server: String,
    token: DeviceToken,
) -> Result<LoginOutput, CliError> {
    let DeviceToken { token, expires_at, user_id, role } = token;
    let output = LoginOutput {
        profile: name.clone(),
        server: server.clone(),
        user_id: user_id.clone(),
        role,
        expires_at: expires_at.clone(),
    };
    let profile = Profile { server: server.clone(), token: token.clone(), user_id, role, expires_at };
    if let Err(error) = store.update(|saved| saved.insert(name, profile)) {
        if let Some(id) = token_id(&token) {
            // The first error is the one to report.
            let _ = revoke_token(&server, &token, &id).await;
        }
        return Err(error);
    }
    Ok(output)
}

fn no_config_folder() -> CliError {
    CliError::usage(
        "there is no folder for the profile",
        "set HOME or XDG_CONFIG_HOME to a folder of yours, or use a token in TOOLYARD_TOKEN",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profiles::tests::profile;

    const WORK: &str = "https://work.example.com";

    fn target(server: Option<&str>, named: Option<&str>) -> Result<(String, String), CliError> {
        let mut saved = SavedProfiles::default();
        saved.insert("home".parse().unwrap(), profile("http://home.example.com:8787", "h"));
        saved.insert("work".parse().unwrap(), profile(WORK, "w"));
        let named = named.map(|name| name.parse().unwrap());
        let (server, name) = choose_target(server, named.as_ref(), &saved)?;
        Ok((server, name.to_string()))
    }

    fn pair(server: &str, name: &str) -> (String, String) {
        (server.to_owned(), name.to_owned())
    }

    #[test]
    fn a_login_renews_the_profile_of_its_server() {
        assert_eq!(target(None, None).unwrap(), pair(WORK, "work"));
        assert_eq!(target(Some(WORK), None).unwrap(), pair(WORK, "work"));
        assert_eq!(target(None, Some("home")).unwrap(), pair("http://home.example.com:8787", "home"));
        assert_eq!(
            target(Some("http://127.0.0.1:1"), None).unwrap(),
            pair("http://127.0.0.1:1", "127.0.0.1:1")
        );
        assert_eq!(target(None, Some("new")).unwrap(), pair(DEFAULT_SERVER, "new"));
        let first = choose_target(None, None, &SavedProfiles::default()).unwrap();
        assert_eq!(first, (DEFAULT_SERVER.to_owned(), "127.0.0.1:8787".parse().unwrap()));
    }

    #[test]
    fn a_profile_is_not_moved_to_another_server() {
        let error = target(Some("https://other.example.com"), Some("work")).unwrap_err();
        assert!(error.next_step().unwrap().contains("toolyard logout --profile work"), "{error}");
        assert!(matches!(target(Some("not a url"), None), Err(CliError::Usage { .. })));
    }
}
