//! The cost of validating a value against a schema, computed before anything runs.
//!
//! Each subschema is counted once for each depth of value, however many paths lead to it. So the count is linear in the
//! schema although the number of paths may be exponential; sums saturate. A step takes about ten nanoseconds in the
//! worst case.

use super::{
    graph::{Applicator, SchemaGraph, SchemaNode},
    measure::ValueMeasure,
};

/// Deepest value that is validated: the limit of the JSON parser.
pub(super) const MAX_VALUE_DEPTH: usize = 128;
/// Most steps that a schema may need for a value with one member, with all references expanded.
pub const MAX_EXPANDED_STEPS: u64 = 100_000;
/// How deep a recursive schema is expanded for that limit.
const RECURSION_WRITTEN_OUT: usize = 3;
/// Most nested subschemas during a validation: each takes stack space.
pub(super) const MAX_NESTED_CHECKS: u64 = 512;

/// Steps for each unit of a [`ValueMeasure`].
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct StepWeight {
    steps: u64,
    text: u64,
    backtracking: u64,
    unique: u64,
}

impl StepWeight {
    fn plus(self, other: Self) -> Self {
        Self {
            steps: self.steps.saturating_add(other.steps),
            text: self.text.saturating_add(other.text),
            backtracking: self.backtracking.saturating_add(other.backtracking),
            unique: self.unique.saturating_add(other.unique),
        }
    }

    fn times(self, count: u64) -> Self {
        Self {
            steps: self.steps.saturating_mul(count),
            text: self.text.saturating_mul(count),
            backtracking: self.backtracking.saturating_mul(count),
            unique: self.unique.saturating_mul(count),
        }
    }

    fn max(self, other: Self) -> Self {
        Self {
            steps: self.steps.max(other.steps),
            text: self.text.max(other.text),
            backtracking: self.backtracking.max(other.backtracking),
            unique: self.unique.max(other.unique),
        }
    }

    fn from_node(node: &SchemaNode) -> Self {
        Self { steps: node.steps, text: node.text, backtracking: node.backtracking, unique: node.unique }
    }

    fn steps_for(self, value: &ValueMeasure) -> u64 {
        let steps = self.steps.saturating_mul(value.steps);
        steps
            .saturating_add(self.text.saturating_mul(value.text))
            .saturating_add(self.backtracking.saturating_mul(value.short_text))
            .saturating_add(self.unique.saturating_mul(value.pairs))
    }
}

/// The cost of one subschema for values of one depth.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct NodeCost {
    /// To decide whether the value is valid.
    check: StepWeight,
    /// To find which members were evaluated.
    mark: StepWeight,
    /// For the list of errors.
    explain: StepWeight,
    /// How deep subschemas are nested.
    nested: u64,
}

/// The cost of a schema for each depth of value. The last entry also covers deeper values.
#[derive(Debug)]
pub(super) struct CostTable(Vec<NodeCost>);

impl CostTable {
    /// Computes the costs. Refuses a schema that is too large with all references expanded.
    pub(super) fn new(graph: &SchemaGraph) -> Result<Self, String> {
        let mut table = Vec::new();
        let mut layer = vec![NodeCost::default(); graph.nodes.len()];
        let mut next = layer.clone();
        for depth in 0..=MAX_VALUE_DEPTH {
            for &node in &graph.order {
                next[node] = node_cost(&graph.nodes[node], &next, (depth > 0).then_some(layer.as_slice()));
            }
            let Some(&root) = next.first() else { break };
            table.push(root);
            let is_whole = next == layer;
            if root.check.steps > MAX_EXPANDED_STEPS && (is_whole || depth <= RECURSION_WRITTEN_OUT) {
                return Err(format!(
                    "more than {MAX_EXPANDED_STEPS} steps for one value when its references are written out; \
                     refer to fewer alternatives from each other"
                ));
            }
            if root.nested > MAX_NESTED_CHECKS && depth <= RECURSION_WRITTEN_OUT {
                return Err(format!("references lead to each other more than {MAX_NESTED_CHECKS} times"));
            }
            if is_whole {
                return Ok(Self(table));
            }
            std::mem::swap(&mut layer, &mut next);
        }
        Ok(Self(table))
    }

    /// Most steps to decide whether a value is valid.
    pub(super) fn check_steps(&self, value: &ValueMeasure) -> u64 {
        self.cost_at_depth(value).map_or(u64::MAX, |cost| cost.check.steps_for(value))
    }

    /// Most errors that a value can produce. Each takes memory, however short the validation was.
    pub(super) fn max_errors(&self, value: &ValueMeasure) -> u64 {
        self.cost_at_depth(value).map_or(u64::MAX, |cost| cost.explain.steps.saturating_mul(value.values))
    }

    fn cost_at_depth(&self, value: &ValueMeasure) -> Option<&NodeCost> {
        let cost = self.0.get(value.depth).or(self.0.last())?;
        (value.depth <= MAX_VALUE_DEPTH && cost.nested <= MAX_NESTED_CHECKS).then_some(cost)
    }
}

/// The cost of one subschema, from the costs for the same value and for its parts.
fn node_cost(node: &SchemaNode, same: &[NodeCost], parts: Option<&[NodeCost]>) -> NodeCost {
    let own = StepWeight::from_node(node);
    let (mut named, mut every) = (NodeCost::default(), NodeCost::default());
    if let Some(parts) = parts {
        for part in node.named.iter().map(|&part| &parts[part]) {
            // A member has one name, so only one of these subschemas applies.
            named.check = named.check.max(part.check);
            named.explain = named.explain.max(part.explain);
            named.nested = named.nested.max(part.nested);
        }
        for part in node.every.iter().map(|&part| &parts[part]) {
            every.check = every.check.plus(part.check);
            every.explain = every.explain.plus(part.explain);
            every.nested = every.nested.max(part.nested);
        }
    }
    let mut all = NodeCost {
        check: own.plus(named.check).plus(every.check),
        mark: own.plus(every.check),
        explain: own.plus(own).plus(named.explain).plus(every.check).plus(every.explain),
        nested: named.nested.max(every.nested),
    };
    for (how, other) in node.same_place.iter().map(|(how, at)| (*how, &same[*at])) {
        all.check = all.check.plus(other.check);
        all.nested = all.nested.max(other.nested);
        all.explain = all.explain.plus(other.explain);
        if how == Applicator::Choice {
            all.explain = all.explain.plus(other.check);
        }
        all.mark = all.mark.plus(other.mark);
        if how != Applicator::Reference {
            all.mark = all.mark.plus(other.check);
        }
    }
    let marking = all.mark.times(node.unevaluated);
    all.check = all.check.plus(marking);
    all.explain = all.explain.plus(marking);
    all.nested = all.nested.saturating_add(1);
    all
}
