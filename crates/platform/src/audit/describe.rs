//! Actors as the audit log names them.

use toolyard_core::ports::AuditActor;
use toolyard_protocol::audit::AuditActorKind;

use crate::{Actor, Credential};

impl Actor {
    /// The actor as the audit log names it. Credentials are named by their ids and never shown.
    pub(super) fn audit_actor(&self) -> AuditActor {
        match self {
            Self::App(app) => AuditActor {
                kind: AuditActorKind::App,
                name: app.head.package().to_string(),
                credential: "app key".to_owned(),
            },
            Self::Person { name, credential, .. } => AuditActor {
                kind: match credential {
                    Credential::Client { .. } => AuditActorKind::Client,
                    _ => AuditActorKind::Person,
                },
                name: name.clone(),
                credential: describe_credential(credential),
            },
        }
    }
}

fn describe_credential(credential: &Credential) -> String {
    match credential {
        Credential::DevHeader => "dev mode".to_owned(),
        Credential::Embedded => "embedded".to_owned(),
        Credential::Token { id: Some(id), .. } => format!("token {id}"),
        Credential::Token { id: None, .. } => "unlisted token".to_owned(),
        Credential::Client { access, .. } => format!("client {}", access.client_id),
        Credential::Session { id, .. } => format!("session {id}"),
        Credential::IdentityProvider { .. } => "identity provider".to_owned(),
    }
}
