//! Profiles: servers that the user signed in to with `toolyard login`, each with its token. They are the only state of
//! this program.

mod name;
mod store;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use toolyard_protocol::{UserId, api::Role, secret::SecretText};

pub(crate) use self::{name::ProfileName, store::ProfileStore};
use crate::error::CliError;

/// What `toolyard login` stored about one server. Never printed: it contains the token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Profile {
    /// URL of the server. The token is sent to no other one.
    pub(crate) server: String,
    pub(crate) token: SecretText,
    /// Whose token it is.
    pub(crate) user_id: UserId,
    /// The role of the token.
    pub(crate) role: Role,
    /// When the token expires, ISO 8601.
    pub(crate) expires_at: String,
}

/// The content of the profile file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedProfiles {
    /// The profile that the last login wrote, unless it was removed.
    #[serde(default)]
    pub(crate) default: Option<ProfileName>,
    #[serde(default)]
    pub(crate) profiles: BTreeMap<ProfileName, Profile>,
}

impl SavedProfiles {
    /// The named profile, or the default one if none is named. `None` if there is no default.
    pub(crate) fn select(
        &self,
        name: Option<&ProfileName>,
    ) -> Result<Option<(&ProfileName, &Profile)>, CliError> {
        match name {
            Some(name) => match self.profiles.get_key_value(name) {
                Some(found) => Ok(Some(found)),
                None => Err(unknown_profile(name)),
            },
            None => Ok(self.default.as_ref().and_then(|name| self.profiles.get_key_value(name))),
        }
    }

    /// Adds or replaces a profile, and makes it the default.
    pub(crate) fn insert(&mut self, name: ProfileName, profile: Profile) {
        self.default = Some(name.clone());
        self.profiles.insert(name, profile);
    }

    /// Removes a profile. No other one becomes the default: that would send the next command to another server.
    pub(crate) fn remove(&mut self, name: &ProfileName) -> Option<Profile> {
        if self.default.as_ref() == Some(name) {
            self.default = None;
        }
        self.profiles.remove(name)
    }
}

/// The error if a named profile does not exist.
pub(crate) fn unknown_profile(name: &ProfileName) -> CliError {
    CliError::usage(
        format!("there is no profile `{name}`"),
        format!(
            "`toolyard login ls` lists the profiles; `toolyard login --profile {name} --server URL` creates one"
        ),
    )
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A profile for Ada on a server.
    pub(crate) fn profile(server: &str, token: &str) -> Profile {
        Profile {
            server: server.to_owned(),
            token: SecretText::new(token),
            user_id: "ada@example.com".parse().unwrap(),
            role: Role::User,
            expires_at: "2030-01-01T00:00:00.000Z".to_owned(),
        }
    }

    #[test]
    fn the_last_login_is_the_default_until_it_is_removed() {
        let (home, work): (ProfileName, ProfileName) = ("home".parse().unwrap(), "work".parse().unwrap());
        let mut saved = SavedProfiles::default();
        assert_eq!(saved.select(None).unwrap(), None);
        saved.insert(home.clone(), profile("http://a", "a"));
        saved.insert(work.clone(), profile("http://b", "b"));
        assert_eq!(saved.select(None).unwrap().unwrap().0, &work);
        assert_eq!(saved.select(Some(&home)).unwrap().unwrap().1.server, "http://a");
        saved.remove(&work);
        assert_eq!(saved.select(None).unwrap(), None, "the other one does not take its place");
        assert!(matches!(saved.select(Some(&work)), Err(CliError::Usage { .. })));
        saved.insert(work.clone(), profile("http://b", "b"));
        saved.remove(&home);
        assert_eq!(saved.select(None).unwrap().unwrap().0, &work);
    }

    #[test]
    fn a_token_does_not_reach_a_log() {
        assert!(!format!("{:?}", profile("http://a", "the-token")).contains("the-token"));
    }
}
