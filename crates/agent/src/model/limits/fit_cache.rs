//! A cache of fitted tools. The same tools are sent with every request, and fitting one walks its whole schema.

use std::sync::{Arc, Weak};

use toolyard_core::bounded_cache::BoundedCache;

use super::{FitResult, VendorFamily, fit_tool};
use crate::model::ToolSpec;

/// Most tools in the cache.
const MAX_CACHED: usize = 4_096;

/// Fitted tools. Each is fitted once per family, as long as its definition is the same object in memory.
#[derive(Debug)]
pub struct FitCache(BoundedCache<(VendorFamily, usize), CachedFit>);

#[derive(Clone)]
struct CachedFit {
    /// Prevents the address from being reused for another tool, without keeping the tool alive.
    _tool: Weak<ToolSpec>,
    fit: Arc<FitResult>,
}

impl Default for FitCache {
    fn default() -> Self {
        Self(BoundedCache::new(MAX_CACHED))
    }
}

impl FitCache {
    /// The fitted tool.
    pub(super) fn get_or_fit(&self, family: VendorFamily, tool: &Arc<ToolSpec>) -> Arc<FitResult> {
        self.get_or_fit_with(family, tool, || fit_tool(family, tool))
    }

    fn get_or_fit_with(
        &self,
        family: VendorFamily,
        tool: &Arc<ToolSpec>,
        make: impl FnOnce() -> FitResult,
    ) -> Arc<FitResult> {
        let key = (family, Arc::as_ptr(tool).addr());
        let fit = || CachedFit { _tool: Arc::downgrade(tool), fit: Arc::new(make()) };
        self.0.get_or_insert_with(key, fit).fit
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use serde_json::json;

    use super::*;

    fn tool(number: usize) -> Arc<ToolSpec> {
        let (name, schema) = (format!("t{number}"), json!({ "type": "object" }));
        Arc::new(ToolSpec { name, description: "d".to_owned(), schema })
    }

    struct Counted {
        fits: FitCache,
        made: Cell<usize>,
    }

    impl Counted {
        fn new() -> Self {
            Self { fits: FitCache::default(), made: Cell::new(0) }
        }

        /// Fits a tool, and returns how many were fitted so far.
        fn of(&self, family: VendorFamily, tool: &Arc<ToolSpec>) -> usize {
            let got = self.fits.get_or_fit_with(family, tool, || {
                self.made.set(self.made.get() + 1);
                fit_tool(family, tool)
            });
            assert_eq!(*got, fit_tool(family, tool));
            self.made.get()
        }
    }

    #[test]
    fn a_tool_is_made_to_fit_once_for_each_family() {
        let (counted, one, other) = (Counted::new(), tool(1), tool(1));
        for _ in 0..3 {
            assert_eq!(counted.of(VendorFamily::OpenAi, &one), 1);
        }
        assert_eq!(counted.of(VendorFamily::Gemini, &one), 2);
        assert_eq!(counted.of(VendorFamily::OpenAi, &other), 3, "another definition, however alike");
        assert_eq!(counted.of(VendorFamily::OpenAi, &one.clone()), 3);
    }

    #[test]
    fn left_out_tools_are_cached_too() {
        let counted = Counted::new();
        let bad = Arc::new(ToolSpec { name: "a.b".to_owned(), ..(*tool(1)).clone() });
        assert_eq!((counted.of(VendorFamily::OpenAi, &bad), counted.of(VendorFamily::OpenAi, &bad)), (1, 1));
    }

    #[test]
    fn addresses_of_dropped_tools_are_not_reused() {
        let counted = Counted::new();
        // Each is dropped before the next one is made, so their addresses could be the same.
        for number in 1..100 {
            assert_eq!(counted.of(VendorFamily::OpenAi, &tool(number)), number);
        }
    }

    #[test]
    fn evicted_tools_are_fitted_again() {
        let counted = Counted::new();
        let all: Vec<_> = (0..=MAX_CACHED).map(tool).collect();
        for tool in &all {
            counted.of(VendorFamily::OpenAi, tool);
        }
        let made = counted.made.get();
        assert_eq!(counted.of(VendorFamily::OpenAi, &all[MAX_CACHED]), made);
        assert_eq!(counted.of(VendorFamily::OpenAi, &all[0]), made + 1, "the oldest was evicted");
    }
}
