//! Cache of the values that calls to apps need.

use std::sync::Arc;

use dashmap::DashMap;
use toolyard_protocol::PackageName;

/// Largest number of apps in the cache. When it is full it is cleared: creating an entry takes microseconds.
const MAX_TARGETS: usize = 4_096;

/// One value per app, limited in size.
pub(super) struct TargetCache<T>(DashMap<PackageName, Arc<T>>);

impl<T> Default for TargetCache<T> {
    fn default() -> Self {
        Self(DashMap::new())
    }
}

impl<T> TargetCache<T> {
    pub(super) fn get(&self, package: &PackageName) -> Option<Arc<T>> {
        self.0.get(package).map(|target| target.clone())
    }

    pub(super) fn insert(&self, package: &PackageName, target: Arc<T>) {
        if self.0.len() >= MAX_TARGETS && !self.0.contains_key(package) {
            self.0.clear();
            self.0.shrink_to_fit();
        }
        self.0.insert(package.clone(), target);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_cache_is_bounded() {
        let targets = TargetCache::default();
        let package = |number: usize| -> PackageName { format!("com.many.app{number}").parse().unwrap() };
        for number in 0..MAX_TARGETS {
            targets.insert(&package(number), Arc::new(number));
        }
        targets.insert(&package(0), Arc::new(7));
        assert_eq!((targets.0.len(), *targets.get(&package(0)).unwrap()), (MAX_TARGETS, 7));
        targets.insert(&package(MAX_TARGETS), Arc::new(8));
        assert_eq!((targets.0.len(), *targets.get(&package(MAX_TARGETS)).unwrap()), (1, 8));
    }
}
