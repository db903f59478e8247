//! The best of many scores, in bounded memory.

use std::{cmp::Ordering, collections::BinaryHeap};

/// A scored document. Greater is worse, so that the top of the heap is the one to drop.
#[derive(Debug, Clone, Copy)]
struct ScoredDocument {
    score: f32,
    document: u32,
}

impl Ord for ScoredDocument {
    fn cmp(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then(self.document.cmp(&other.document))
    }
}

impl PartialOrd for ScoredDocument {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ScoredDocument {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for ScoredDocument {}

/// The `limit` documents with the highest scores above zero, best first. Equal scores keep their order.
pub(super) fn top_documents(scores: &[f32], limit: usize) -> Vec<u32> {
    let mut heap = BinaryHeap::with_capacity(limit.min(scores.len()) + 1);
    for (document, &score) in (0..).zip(scores) {
        if score <= 0.0 || limit == 0 {
            continue;
        }
        let entry = ScoredDocument { score, document };
        if heap.len() < limit {
            heap.push(entry);
        } else if heap.peek().is_some_and(|worst| entry < *worst) {
            heap.pop();
            heap.push(entry);
        }
    }
    heap.into_sorted_vec().into_iter().map(|entry| entry.document).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::top_documents;

    #[test]
    fn equals_keep_their_order_and_zeros_stay_out() {
        assert_eq!(top_documents(&[1.0, 0.0, 2.0, 1.0, 2.0], 3), [2, 4, 0]);
        assert_eq!(top_documents(&[1.0, -1.0], 5), [0]);
        assert!(top_documents(&[1.0], 0).is_empty());
        assert!(top_documents(&[], 3).is_empty());
    }

    proptest! {
        #[test]
        fn it_is_the_beginning_of_a_stable_sort(scores in proptest::collection::vec(0_u8..9, 0..60), limit in 0_usize..70) {
            let scores: Vec<f32> = scores.into_iter().map(f32::from).collect();
            let mut sorted: Vec<u32> = (0..).take(scores.len()).filter(|&at| scores[at as usize] > 0.0).collect();
            sorted.sort_by(|&a, &b| scores[b as usize].total_cmp(&scores[a as usize]));
            sorted.truncate(limit);
            prop_assert_eq!(top_documents(&scores, limit), sorted);
        }
    }
}
