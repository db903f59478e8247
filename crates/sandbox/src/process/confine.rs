//! What a worker gives up before it sees foreign code. Even code that has taken over the engine, and with it the
//! process, can only compute and write to the parent.

use std::io;

use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

use crate::limits::SandboxLimits;

/// Address space besides the memory of the engine: the program, stacks, and unused reservations of allocators.
const ADDRESS_SPACE: u64 = 2 * 1024 * 1024 * 1024;

/// Standard streams, the socket and its copies.
const MAX_DESCRIPTORS: u64 = 16;

/// Seconds of processor time beyond the limit of a run: usually a run stops by itself.
const PROCESSOR_GRACE: u64 = 1;

fn set_limit(resource: Resource, most: u64) -> io::Result<()> {
    Ok(setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?)
}

/// Limits for the whole life of the process.
pub(super) fn limit_resources(limits: &SandboxLimits) -> io::Result<()> {
    let memory = u64::try_from(limits.memory).unwrap_or(u64::MAX);
    set_limit(Resource::As, ADDRESS_SPACE.saturating_add(memory.saturating_mul(2)))?;
    set_limit(Resource::Nofile, MAX_DESCRIPTORS)?;
    set_limit(Resource::Core, 0)?;
    set_limit(Resource::Fsize, 0)?;
    // If the machine runs out of memory, a worker is killed first. If this cannot be set, the system decides.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    Ok(())
}

/// The system ends the process when a run computes for much longer than allowed: even if the engine does not check the
/// clock, and whatever the parent does.
pub(super) fn limit_processor_time(limits: &SandboxLimits) {
    let used = u64::try_from(clock_gettime(ClockId::ProcessCPUTime).tv_sec).unwrap_or(0);
    let most = limits.compute.as_secs().saturating_add(1 + PROCESSOR_GRACE).saturating_add(used);
    // The hard limit stays, so that the next run can have as much. If this fails, the parent kills the process.
    let _ = setrlimit(Resource::Cpu, Rlimit { current: Some(most), maximum: None });
}

/// Random bytes from the system.
pub(super) fn fill_random(bytes: &mut [u8]) {
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match rustix::rand::getrandom(rest, rustix::rand::GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(rustix::io::Errno::INTR) => {}
            // Without randomness nothing can run; the parent reports it.
            Err(_) => super::child::end_worker(4),
        }
    }
}

/// Restricts the process to the system calls that it needs to compute and to talk to the parent: no files, no network,
/// no other processes, no new code in memory. Returns whether this machine supports it.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) fn forbid_system_calls() -> bool {
    build_syscall_filter().is_ok_and(|filter| seccompiler::apply_filter_all_threads(&filter).is_ok())
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub(super) fn forbid_system_calls() -> bool {
    false
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn build_syscall_filter() -> Result<seccompiler::BpfProgram, seccompiler::BackendError> {
    use seccompiler::{
        SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    };

    const ALLOWED: &[libc::c_long] = &[
        libc::SYS_brk,
        libc::SYS_clock_gettime,
        libc::SYS_clock_nanosleep,
        libc::SYS_close,
        libc::SYS_exit,
        libc::SYS_exit_group,
        libc::SYS_futex,
        libc::SYS_getpid,
        libc::SYS_getrandom,
        libc::SYS_gettid,
        libc::SYS_madvise,
        libc::SYS_mremap,
        libc::SYS_munmap,
        libc::SYS_nanosleep,
        libc::SYS_read,
        libc::SYS_readv,
        libc::SYS_recvfrom,
        libc::SYS_restart_syscall,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_sched_yield,
        libc::SYS_sigaltstack,
        libc::SYS_write,
        libc::SYS_writev,
    ];
    let argument = |index, operator, value| {
        SeccompCondition::new(index, SeccompCmpArgLen::Dword, operator, value)
            .and_then(|condition| SeccompRule::new(vec![condition]))
    };
    // Executable memory can only be created before the filter.
    let no_code = || {
        let executable = u64::from(libc::PROT_EXEC.unsigned_abs());
        argument(2, SeccompCmpOp::MaskedEq(executable), 0)
    };
    let mut rules: std::collections::BTreeMap<_, _> = ALLOWED.iter().map(|call| (*call, vec![])).collect();
    rules.insert(libc::SYS_mmap, vec![no_code()?]);
    rules.insert(libc::SYS_mprotect, vec![no_code()?]);
    // A copy of the socket, and nothing else.
    let duplicate = u64::from(libc::F_DUPFD_CLOEXEC.unsigned_abs());
    rules.insert(libc::SYS_fcntl, vec![argument(1, SeccompCmpOp::Eq, duplicate)?]);
    // Its own limits, not those of the parent.
    rules.insert(libc::SYS_prlimit64, vec![argument(0, SeccompCmpOp::Eq, 0)?]);
    // Only to the connected peer: without an address.
    let no_address = SeccompCondition::new(4, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, 0)?;
    rules.insert(libc::SYS_sendto, vec![SeccompRule::new(vec![no_address])?]);
    let refuse = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let architecture = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, refuse, SeccompAction::Allow, architecture)?.try_into()
}
