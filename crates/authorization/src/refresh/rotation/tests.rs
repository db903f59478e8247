//! Decisions, and a model of processes that refresh at the same time.

use std::collections::HashSet;

use super::*;

const EXPIRES: i64 = 10_000;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn state(generation: u32, rotated_at: Option<i64>) -> GrantState {
    GrantState { generation, rotated_at: rotated_at.map(at), is_revoked: false, expires_at: at(EXPIRES) }
}

#[test]
fn decisions_follow_generation_and_time() {
    use RefreshDecision as D;
    for (stored, rotated_at, presented, now, expected) in [
        (0, None, 0, 0, D::Rotate { next: 1 }),
        (5, Some(0), 5, 9_999, D::Rotate { next: 6 }),
        (5, Some(100), 4, 100, D::RepeatSuccessor { current: 5 }),
        (5, Some(100), 4, 100 + GRACE_WINDOW_S - 1, D::RepeatSuccessor { current: 5 }),
        (5, Some(100), 4, 100 + GRACE_WINDOW_S, D::Replay),
        (5, Some(100), 3, 100, D::Replay),
        (5, Some(100), 0, 100, D::Replay),
        (5, None, 4, 100, D::Replay),
        (5, Some(100), 4, 90, D::RepeatSuccessor { current: 5 }),
        (5, Some(100), 6, 100, D::NotIssued),
        (5, Some(100), u32::MAX, 100, D::NotIssued),
        (u32::MAX, Some(100), u32::MAX, 100, D::Expired),
        (u32::MAX, Some(100), u32::MAX - 1, 100, D::RepeatSuccessor { current: u32::MAX }),
        (5, Some(100), 5, EXPIRES, D::Expired),
        (5, Some(EXPIRES), 4, EXPIRES, D::Expired),
    ] {
        let decision = decide_rotation(&state(stored, rotated_at), presented, at(now));
        assert_eq!(decision, expected, "{stored} {rotated_at:?} {presented} {now}");
    }
    let revoked = GrantState { is_revoked: true, ..state(5, Some(100)) };
    for presented in [3, 4, 5, 6] {
        assert_eq!(decide_rotation(&revoked, presented, at(100)), D::Revoked);
    }
}

/// Where one process of the model is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum ProcessStep {
    /// Has not read the store.
    Start,
    /// Decided to rotate from the generation that it read.
    Swapping { seen: u32, next: u32 },
    /// Got a token of this generation.
    Done(u32),
    /// Was logged out.
    LoggedOut,
}

/// All processes present the token of generation 0, in every order of reads and writes.
fn explore(processes: usize, now: i64) -> HashSet<ProcessStep> {
    let mut results = HashSet::new();
    let mut visited = HashSet::new();
    let mut open = vec![(0_u32, vec![ProcessStep::Start; processes])];
    while let Some((stored, mut steps)) = open.pop() {
        // Processes are alike, so their order does not matter.
        steps.sort_unstable();
        if !visited.insert((stored, steps.clone())) {
            continue;
        }
        for place in 0..steps.len() {
            let mut next_stored = stored;
            let next_step = match steps[place] {
                ProcessStep::Start => {
                    let rotated_at = (stored > 0).then_some(0);
                    match decide_rotation(&state(stored, rotated_at), 0, at(now)) {
                        RefreshDecision::Rotate { next } => ProcessStep::Swapping { seen: stored, next },
                        RefreshDecision::RepeatSuccessor { current } => ProcessStep::Done(current),
                        _ => ProcessStep::LoggedOut,
                    }
                }
                ProcessStep::Swapping { seen, next } if seen == stored => {
                    next_stored = next;
                    ProcessStep::Done(next)
                }
                // Lost the race: reads again.
                ProcessStep::Swapping { .. } => ProcessStep::Start,
                finished => {
                    results.insert(finished);
                    continue;
                }
            };
            let mut next_steps = steps.clone();
            next_steps[place] = next_step;
            open.push((next_stored, next_steps));
        }
    }
    results
}

#[test]
fn five_concurrent_refreshes_get_one_successor_without_a_logout() {
    for now in [0, GRACE_WINDOW_S - 1] {
        assert_eq!(explore(5, now), HashSet::from([ProcessStep::Done(1)]), "{now}");
    }
}

#[test]
fn after_the_window_the_others_are_replays() {
    let expected = HashSet::from([ProcessStep::Done(1), ProcessStep::LoggedOut]);
    assert_eq!(explore(5, GRACE_WINDOW_S), expected);
}
