//! The audit log: what people, apps and clients changed.
//!
//! A verb writes its entry right after its change, and waits until it is stored. The two are not one transaction: if the entry
//! cannot be written, the change stays, the failure is logged with everything that the entry would have said, and counted.

mod describe;
mod failed_sign_ins;
mod list;
mod record;

pub use self::{
    list::list,
    record::{AuditSubject, AuditWriter},
};
