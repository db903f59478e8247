//! A schema as a graph: which subschemas apply to the same value, and which to a part of it.
//!
//! References are resolved here in one pass, so that the cost of a schema is known before it is compiled. If the target
//! of a reference is ambiguous (nested `$id`, dynamic anchors), all candidates count: the graph may be larger than what
//! the validator does, never smaller.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Map, Value};

use super::{message::truncate_text, pattern::PatternSet};

/// Most subschemas with their own `$id`: each adds a possible target for references.
const MAX_NESTED_IDS: usize = 32;
/// Most targets of one reference: the root and each of those subschemas can define the same anchor.
const MAX_CANDIDATES: usize = MAX_NESTED_IDS + 1;
/// Bytes of a constant that are compared in about one step.
const BYTES_A_STEP: u64 = 16;

/// How validation gets from one subschema to another one for the same value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Applicator {
    /// `$ref` and its like.
    Reference,
    /// `allOf`, `then`, `else`, `dependentSchemas`.
    Branch,
    /// `anyOf`, `oneOf`, `not`, `if`: evaluated once to decide, and again to explain.
    Choice,
}

/// One subschema.
#[derive(Debug, Default)]
pub(super) struct SchemaNode {
    /// Steps of its own keywords, for each value or member.
    pub(super) steps: u64,
    /// Steps for each byte of text.
    pub(super) text: u64,
    /// Steps for each byte of text, up to the limit for backtracking patterns.
    pub(super) backtracking: u64,
    /// `uniqueItems`: each item is compared with each other.
    pub(super) unique: u64,
    /// `unevaluated…` keywords: each depends on what all others evaluated.
    pub(super) unevaluated: u64,
    /// Subschemas for the same value.
    pub(super) same_place: Vec<(Applicator, usize)>,
    /// Subschemas for one member or item each.
    pub(super) named: Vec<usize>,
    /// Subschemas for every member or item.
    pub(super) every: Vec<usize>,
}

/// All subschemas that validation can reach. The root is the first.
#[derive(Debug)]
pub(super) struct SchemaGraph {
    pub(super) nodes: Vec<SchemaNode>,
    /// Evaluation order: each node after those that apply to the same value on its behalf.
    pub(super) order: Vec<usize>,
}

/// What is wrong with a schema, and at which value.
pub(super) struct BadSchema<'a> {
    pub(super) holder: &'a Value,
    pub(super) message: String,
}

impl SchemaGraph {
    /// Builds the graph of a schema whose size was checked.
    pub(super) fn new<'a>(root: &'a Value, patterns: &mut PatternSet) -> Result<Self, BadSchema<'a>> {
        let mut reader = GraphReader {
            root,
            patterns,
            places: ReferenceTargets::default(),
            known: HashMap::new(),
            schemas: Vec::new(),
            nodes: Vec::new(),
        };
        reader.places.collect_targets(root);
        reader.places.check_bounds().map_err(|message| BadSchema { holder: root, message })?;
        reader.node_id(root);
        let mut next = 0;
        while let Some(&schema) = reader.schemas.get(next) {
            let node = reader.read_node(schema)?;
            reader.nodes[next] = node;
            next += 1;
        }
        let GraphReader { nodes, schemas, .. } = reader;
        let order = evaluation_order(&nodes).map_err(|at| BadSchema {
            holder: schemas[at],
            message: format!(
                "`{}` leads back to itself at the same place",
                truncate_text(first_reference(schemas[at]))
            ),
        })?;
        Ok(Self { nodes, order })
    }
}

/// Every reference of a schema, reachable or not.
pub(super) fn references_in(members: &Map<String, Value>) -> impl Iterator<Item = (&'static str, &str)> {
    let keywords = ["$ref", "$dynamicRef", "$recursiveRef"];
    keywords.into_iter().filter_map(|keyword| Some((keyword, members.get(keyword)?.as_str()?)))
}

fn first_reference(schema: &Value) -> &str {
    schema.as_object().and_then(|members| references_in(members).next()).map_or("#", |(_, target)| target)
}

/// The possible targets of references.
#[derive(Default)]
struct ReferenceTargets<'a> {
    anchors: HashMap<&'a str, Vec<&'a Value>>,
    resources: Vec<&'a Value>,
}

impl<'a> ReferenceTargets<'a> {
    fn collect_targets(&mut self, value: &'a Value) {
        match value {
            Value::Object(members) => {
                let names: BTreeSet<&str> = ["$anchor", "$dynamicAnchor"]
                    .into_iter()
                    .filter_map(|keyword| members.get(keyword)?.as_str())
                    .collect();
                for name in names {
                    self.anchors.entry(name).or_default().push(value);
                }
                if members.get("$id").or_else(|| members.get("id")).is_some_and(Value::is_string) {
                    self.resources.push(value);
                }
                members.values().for_each(|member| self.collect_targets(member));
            }
            Value::Array(items) => items.iter().for_each(|item| self.collect_targets(item)),
            _ => {}
        }
    }

    /// Without these limits, each of many references could have many targets.
    fn check_bounds(&self) -> Result<(), String> {
        if self.resources.len() > MAX_NESTED_IDS {
            return Err(format!("more than {MAX_NESTED_IDS} subschemas with an `$id`"));
        }
        match self.anchors.iter().find(|(_, places)| places.len() > MAX_CANDIDATES) {
            Some((name, _)) => Err(format!(
                "the anchor `{}` is defined more than {MAX_CANDIDATES} times",
                truncate_text(name)
            )),
            None => Ok(()),
        }
    }

    fn resolve_target(&self, root: &'a Value, target: &str) -> Vec<&'a Value> {
        let Some(fragment) = target.strip_prefix('#').and_then(percent_decode) else { return Vec::new() };
        let mut found: Vec<&Value> = if fragment.is_empty() || fragment.starts_with('/') {
            let places = std::iter::once(root).chain(self.resources.iter().copied());
            places.filter_map(|place| place.pointer(&fragment)).collect()
        } else {
            self.anchors.get(fragment.as_str()).cloned().unwrap_or_default()
        };
        found.sort_by_key(|value| value_address(value));
        found.dedup_by_key(|value| value_address(value));
        found
    }
}

struct GraphReader<'a, 'p> {
    root: &'a Value,
    patterns: &'p mut PatternSet,
    places: ReferenceTargets<'a>,
    known: HashMap<usize, usize>,
    schemas: Vec<&'a Value>,
    nodes: Vec<SchemaNode>,
}

impl<'a> GraphReader<'a, '_> {
    /// The number of a subschema; its content is read later.
    fn node_id(&mut self, schema: &'a Value) -> usize {
        *self.known.entry(value_address(schema)).or_insert_with(|| {
            self.schemas.push(schema);
            self.nodes.push(SchemaNode::default());
            self.nodes.len() - 1
        })
    }

    fn read_node(&mut self, schema: &'a Value) -> Result<SchemaNode, BadSchema<'a>> {
        let mut node = SchemaNode { steps: 1, ..SchemaNode::default() };
        let Value::Object(members) = schema else { return Ok(node) };
        node.steps += members.len() as u64;
        for (_, target) in references_in(members) {
            let targets = self.places.resolve_target(self.root, target);
            if targets.is_empty() {
                let message = format!("`{}` leads nowhere in this schema", truncate_text(target));
                return Err(BadSchema { holder: schema, message });
            }
            for target in targets {
                let id = self.node_id(target);
                node.same_place.push((Applicator::Reference, id));
            }
        }
        for (keyword, value) in members {
            self.read_keyword(&mut node, keyword, value)
                .map_err(|message| BadSchema { holder: schema, message })?;
        }
        Ok(node)
    }

    /// Handles keywords of all drafts, because a subschema may select an older one.
    fn read_keyword(&mut self, node: &mut SchemaNode, keyword: &str, value: &'a Value) -> Result<(), String> {
        match (keyword, value) {
            ("allOf", Value::Array(all)) => self.same_place(node, Applicator::Branch, all),
            ("anyOf" | "oneOf", Value::Array(all)) => self.same_place(node, Applicator::Choice, all),
            ("not" | "if", one) => self.same_place(node, Applicator::Choice, [one]),
            ("then" | "else", one) => self.same_place(node, Applicator::Branch, [one]),
            ("dependentSchemas" | "dependencies" | "dependentRequired", Value::Object(all)) => {
                node.steps +=
                    all.values().map(|one| 1 + one.as_array().map_or(0, Vec::len) as u64).sum::<u64>();
                if keyword != "dependentRequired" {
                    let schemas = all.values().filter(|one| !one.is_array());
                    self.same_place(node, Applicator::Branch, schemas);
                }
            }
            ("properties", Value::Object(all)) => {
                node.steps += all.len() as u64;
                node.named.extend(all.values().map(|one| self.node_id(one)));
            }
            ("patternProperties", Value::Object(all)) => {
                node.steps += all.len() as u64;
                for (pattern, one) in all {
                    self.patterns.add_for_names(pattern)?;
                    node.text = node.text.saturating_add(self.patterns.text_steps(pattern));
                    let id = self.node_id(one);
                    node.every.push(id);
                }
            }
            ("items" | "prefixItems", Value::Array(all)) => {
                node.steps += all.len() as u64;
                node.named.extend(all.iter().map(|one| self.node_id(one)));
            }
            ("unevaluatedProperties" | "unevaluatedItems", one) => {
                node.unevaluated += 1;
                let id = self.node_id(one);
                node.every.push(id);
            }
            ("items" | "additionalItems" | "additionalProperties" | "contains" | "propertyNames", one) => {
                let id = self.node_id(one);
                node.every.push(id);
            }
            ("pattern", Value::String(pattern)) => {
                self.patterns.add(pattern)?;
                node.text = node.text.saturating_add(self.patterns.text_steps(pattern));
                node.backtracking =
                    node.backtracking.saturating_add(self.patterns.backtracking_steps(pattern));
            }
            ("uniqueItems", Value::Bool(true)) => node.unique += 1,
            ("contentMediaType" | "contentEncoding", Value::String(_)) => node.text += 1,
            ("enum" | "const" | "required" | "type", value) => node.steps += constant_steps(value),
            _ => {}
        }
        Ok(())
    }

    fn same_place(
        &mut self,
        node: &mut SchemaNode,
        how: Applicator,
        all: impl IntoIterator<Item = &'a Value>,
    ) {
        node.same_place.extend(all.into_iter().map(|one| (how, self.node_id(one))));
    }
}

/// Orders each node after those that apply to the same value on its behalf; fails with a node on a cycle.
fn evaluation_order(nodes: &[SchemaNode]) -> Result<Vec<usize>, usize> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut state = vec![State::New; nodes.len()];
    let mut order = Vec::with_capacity(nodes.len());
    for start in 0..nodes.len() {
        if state[start] != State::New {
            continue;
        }
        state[start] = State::Open;
        let mut way = vec![(start, 0)];
        while let Some((node, next)) = way.last_mut() {
            let Some(&(_, target)) = nodes[*node].same_place.get(*next) else {
                state[*node] = State::Done;
                order.push(*node);
                way.pop();
                continue;
            };
            *next += 1;
            match state[target] {
                State::Done => {}
                State::New => {
                    state[target] = State::Open;
                    way.push((target, 0));
                }
                State::Open => {
                    // Report a node of the cycle that holds a reference; every cycle has one.
                    let of_loop = way.iter().rev().map(|(node, _)| *node).find(|&node| {
                        nodes[node].same_place.iter().any(|(how, _)| *how == Applicator::Reference)
                    });
                    return Err(of_loop.unwrap_or(target));
                }
            }
        }
    }
    Ok(order)
}

fn constant_steps(value: &Value) -> u64 {
    match value {
        Value::String(text) => 1 + text.len() as u64 / BYTES_A_STEP,
        Value::Array(items) => 1 + items.iter().map(constant_steps).sum::<u64>(),
        Value::Object(members) => {
            1 + members
                .iter()
                .map(|(name, value)| name.len() as u64 / BYTES_A_STEP + constant_steps(value))
                .sum::<u64>()
        }
        _ => 1,
    }
}

/// The address of a value, which identifies it while the schema is read.
fn value_address(value: &Value) -> usize {
    std::ptr::from_ref(value).addr()
}

fn percent_decode(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        let hex = |byte: Option<u8>| char::from(byte?).to_digit(16);
        decoded.push(match byte {
            b'%' => u8::try_from(hex(bytes.next())? * 16 + hex(bytes.next())?).ok()?,
            byte => byte,
        });
    }
    String::from_utf8(decoded).ok()
}
