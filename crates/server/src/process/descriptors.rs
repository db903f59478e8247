//! File descriptors: raises the limit to what the system allows, and reserves some for other uses than clients.

/// One in this many descriptors is for a client connection. The others are for outgoing connections, files and child
/// processes: a call needs up to one of each.
const SHARE: u64 = 2;

/// The number of connections that the server can accept, at most `wanted`. Raises the soft limit of open files to the hard one.
pub(crate) fn connection_limit(wanted: usize) -> usize {
    let Some(files) = raise_file_limit() else { return wanted };
    let limit = clamp_connections(wanted, files);
    if limit < wanted {
        tracing::warn!(
            wanted,
            limit,
            open_files = files,
            "server.max_connections exceeds what the open file limit allows; raise the limit with `ulimit -Hn` or LimitNOFILE="
        );
    }
    limit
}

fn clamp_connections(wanted: usize, files: u64) -> usize {
    wanted.min(usize::try_from(files / SHARE).unwrap_or(usize::MAX)).max(1)
}

/// Raises the limit and returns how many files this process may have open. None means no limit.
#[cfg(unix)]
fn raise_file_limit() -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        match setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
            Ok(()) => return limit.maximum,
            Err(error) => tracing::warn!(%error, "failed to raise the open file limit"),
        }
    }
    limit.current
}

#[cfg(not(unix))]
fn raise_file_limit() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_descriptors_for_everything_else() {
        assert_eq!(clamp_connections(20_000, 1_024), 512);
        assert_eq!(clamp_connections(20_000, 1_048_576), 20_000);
        assert_eq!(clamp_connections(100, 1), 1);
    }

    #[cfg(unix)]
    #[test]
    fn the_soft_limit_is_raised_to_the_hard_one() {
        use rustix::process::{Resource, getrlimit};
        connection_limit(1);
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(limit.current, limit.maximum);
    }
}
