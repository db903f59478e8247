//! Builds rules from the keywords of a schema.

use serde_json::{Map, Value, json};

use super::{
    MAX_CHOICES, MAX_DEPTH, MAX_ITEMS, MAX_LITERAL, MAX_LONG_LIST, MAX_LONG_STRING, MAX_OPTIONAL,
    MAX_REQUIRED, MAX_STRING, MAX_WORK, UnfitSchema,
    branches::{FlatSchema, SchemaBranches},
    copy, number,
    rules::{GrammarRules, quote_literal},
};

/// Builds the rules for one schema.
#[derive(Debug)]
pub(super) struct GrammarBuilder<'a> {
    root: &'a Value,
    schemas: SchemaBranches<'a>,
    rules: GrammarRules,
    /// The rule for words of a text, if strings are copied.
    copy: Option<String>,
}

type RuleResult = Result<String, UnfitSchema>;

impl<'a> GrammarBuilder<'a> {
    pub(super) fn new(root: &'a Value, text: &str, prefix: &str) -> Result<Self, UnfitSchema> {
        // Each step copies parts of the schema, so a large one is refused at once.
        if is_larger(root, &mut (2 * MAX_WORK)) {
            return Err(UnfitSchema::TooMuch);
        }
        let mut rules = GrammarRules::with_prefix(prefix);
        let copy = copy::copied_words_rule(text, &mut rules);
        Ok(Self { root, schemas: SchemaBranches::new(root), rules, copy })
    }

    /// The grammar for arguments: always an object, even if the schema allows more.
    pub(super) fn build_arguments(mut self) -> RuleResult {
        let mut found = Vec::new();
        for flat in self.schemas.branches_of(self.root)? {
            if !schema_types(&flat).contains(&"object") {
                continue;
            }
            match self.object_rule(&flat, 0) {
                Ok(rule) => found.push(rule),
                Err(UnfitSchema::Impossible) => {}
                Err(UnfitSchema::TooMuch) => return Err(UnfitSchema::TooMuch),
            }
        }
        let root = self.one_of(found)?;
        self.rules.check_size()?;
        Ok(self.rules.into_grammar(&root))
    }

    fn value_rule(&mut self, schema: &Value, depth: usize) -> RuleResult {
        let mut found = Vec::new();
        for flat in self.schemas.branches_of(schema)? {
            for rule in self.flat_rules(&flat, depth) {
                match rule {
                    Ok(rule) => found.push(rule),
                    Err(UnfitSchema::Impossible) => {}
                    Err(UnfitSchema::TooMuch) => return Err(UnfitSchema::TooMuch),
                }
            }
        }
        self.rules.check_size()?;
        self.one_of(found)
    }

    fn one_of(&mut self, mut rules: Vec<String>) -> RuleResult {
        let mut seen = Vec::new();
        rules.retain(|rule| {
            let new = !seen.contains(rule);
            seen.push(rule.clone());
            new
        });
        match rules.as_slice() {
            [] => Err(UnfitSchema::Impossible),
            [one] => Ok(one.clone()),
            many => Ok(self.rules.add(many.join(" | "))),
        }
    }

    fn flat_rules(&mut self, flat: &FlatSchema, depth: usize) -> Vec<RuleResult> {
        if flat.contains_key("const") || flat.contains_key("enum") {
            return vec![self.choices_rule(flat)];
        }
        // A schema without a type allows every value. Scalars are enough.
        if !SAYS_TYPE.iter().any(|name| flat.contains_key(*name)) {
            return vec![Ok(self.rules.any_scalar())];
        }
        schema_types(flat).into_iter().map(|of| self.of_type(of, flat, depth)).collect()
    }

    fn of_type(&mut self, of: &str, flat: &FlatSchema, depth: usize) -> RuleResult {
        match of {
            "object" => self.object_rule(flat, depth + 1),
            "array" => self.array_rule(flat, depth + 1),
            "string" => self.string_rule(flat),
            "integer" => {
                number::whole_rule(flat).map(|body| self.rules.add(body)).ok_or(UnfitSchema::Impossible)
            }
            "number" => {
                number::fractional_rule(flat).map(|body| self.rules.add(body)).ok_or(UnfitSchema::Impossible)
            }
            "boolean" => Ok(self.rules.add(r#""true" | "false""#.to_owned())),
            "null" => Ok(self.rules.add(r#""null""#.to_owned())),
            _ => Err(UnfitSchema::Impossible),
        }
    }

    fn choices_rule(&mut self, flat: &FlatSchema) -> RuleResult {
        let listed = flat.get("enum").and_then(Value::as_array);
        let allowed = |value: &&Value| match listed {
            Some(listed) => flat.get("const").is_none_or(|only| only == *value) && listed.contains(value),
            None => true,
        };
        let types = schema_types(flat);
        let of_type =
            |value: &&Value| !flat.contains_key("type") || types.iter().any(|of| is_of_type(value, of));
        let values =
            listed.map_or_else(|| flat.get("const").into_iter().collect(), |l| l.iter().collect::<Vec<_>>());
        let literals = values.into_iter().filter(allowed).filter(of_type).map(Value::to_string);
        let literals = literals.filter(|text| text.len() <= MAX_LITERAL).take(MAX_CHOICES);
        let body: Vec<_> = literals.map(|text| quote_literal(&text)).collect();
        if body.is_empty() { Err(UnfitSchema::Impossible) } else { Ok(self.rules.add(body.join(" | "))) }
    }

    fn string_rule(&mut self, flat: &FlatSchema) -> RuleResult {
        if let Some(format) = flat.get("format").and_then(Value::as_str).and_then(format_of) {
            return Ok(self.rules.add(format!(r#""\"" {format} "\"""#)));
        }
        let (min, max) = (count_bound(flat, "minLength"), count_bound(flat, "maxLength"));
        let max = max.unwrap_or(MAX_STRING.max(min.unwrap_or(0))).min(MAX_LONG_STRING);
        // An empty string is never worth a call if something else is allowed.
        let min = min.unwrap_or(0).max(1.min(max));
        if min > max {
            return Err(UnfitSchema::Impossible);
        }
        if let Some(copy) = self.copy.as_ref().filter(|_| max > 0 && !flat.contains_key("pattern")) {
            return Ok(copy.clone());
        }
        let max = max.min(MAX_STRING.max(min));
        Ok(self.rules.string_rule(min, max))
    }

    fn array_rule(&mut self, flat: &FlatSchema, depth: usize) -> RuleResult {
        let min = count_bound(flat, "minItems").unwrap_or(0);
        let most = count_bound(flat, "maxItems").unwrap_or(MAX_ITEMS.max(min));
        // A grammar cannot tell whether two items are equal.
        let unique = flat.get("uniqueItems") == Some(&Value::Bool(true));
        let max = most.min(MAX_ITEMS.max(min)).min(if unique { min.max(1) } else { MAX_LONG_LIST });
        if min > max || depth > MAX_DEPTH {
            return Err(UnfitSchema::Impossible);
        }
        if let Some(first) =
            flat.get("prefixItems").and_then(Value::as_array).filter(|first| !first.is_empty())
        {
            return self.tuple_rule(first, flat.get("items"), min, max, depth);
        }
        let items = flat.get("items").unwrap_or(&Value::Bool(true));
        match self.value_rule(items, depth) {
            Ok(item) => Ok(self.rules.list_rule(&item, min, max)),
            Err(UnfitSchema::Impossible) if min == 0 => Ok(self.rules.list_rule("", 0, 0)),
            Err(unfit) => Err(unfit),
        }
    }

    /// A list whose first items have their own schemas. It has as many items as required, and the first ones if they
    /// are allowed.
    fn tuple_rule(
        &mut self,
        first: &[Value],
        rest: Option<&Value>,
        min: usize,
        max: usize,
        depth: usize,
    ) -> RuleResult {
        let mut items = Vec::new();
        for at in 0..first.len().max(min).min(max) {
            let schema = first.get(at).or(rest).unwrap_or(&Value::Bool(true));
            match self.value_rule(schema, depth) {
                Ok(item) => items.push(item),
                Err(UnfitSchema::Impossible) if items.len() >= min => break,
                Err(unfit) => return Err(unfit),
            }
        }
        if items.is_empty() {
            return Ok(self.rules.list_rule("", 0, 0));
        }
        Ok(self.rules.add(format!(r#""[" {} "]""#, items.join(r#" "," "#))))
    }

    fn object_rule(&mut self, flat: &FlatSchema, depth: usize) -> RuleResult {
        if depth > MAX_DEPTH {
            return Err(UnfitSchema::Impossible);
        }
        let none = Map::new();
        let properties = flat.get("properties").and_then(Value::as_object).unwrap_or(&none);
        let names = flat.get("required").and_then(Value::as_array);
        let names: Vec<&str> = names.into_iter().flatten().filter_map(Value::as_str).collect();
        if names.len() > MAX_REQUIRED {
            return Err(UnfitSchema::TooMuch);
        }
        if properties.is_empty() && names.is_empty() {
            return self.free_object(flat, depth);
        }
        let mut required = Vec::new();
        for name in &names {
            let schema = properties.get(*name).or_else(|| flat.get("additionalProperties"));
            required.push(self.member_rule(name, schema.unwrap_or(&Value::Bool(true)), depth)?);
        }
        let mut optional = Vec::new();
        for (name, schema) in properties.iter().filter(|(name, _)| !names.contains(&name.as_str())) {
            match self.member_rule(name, schema, depth) {
                Ok(member) => optional.push(member),
                Err(UnfitSchema::Impossible) => {}
                Err(UnfitSchema::TooMuch) => return Err(UnfitSchema::TooMuch),
            }
            if optional.len() == MAX_OPTIONAL {
                break;
            }
        }
        let missing = count_bound(flat, "minProperties").unwrap_or(0).saturating_sub(required.len());
        if missing > optional.len() {
            return Err(UnfitSchema::Impossible);
        }
        required.extend(optional.drain(..missing));
        let room = count_bound(flat, "maxProperties").unwrap_or(usize::MAX);
        if required.len() > room {
            return Err(UnfitSchema::Impossible);
        }
        optional.truncate(room - required.len());
        Ok(self.rules.add(object_body(&required, &optional)))
    }

    /// An object without known members. As arguments it is empty: such a tool has none.
    fn free_object(&mut self, flat: &FlatSchema, depth: usize) -> RuleResult {
        let others = flat.get("additionalProperties").unwrap_or(&Value::Bool(true));
        let min = count_bound(flat, "minProperties").unwrap_or(0);
        let max = count_bound(flat, "maxProperties").unwrap_or(MAX_ITEMS).min(MAX_ITEMS);
        if min > max {
            return Err(UnfitSchema::Impossible);
        }
        // Names of members are free, so two may be equal, which makes one less.
        if (depth == 0 && min == 0) || min > 1 {
            return if min == 0 { Ok(self.rules.map_rule("", 0, 0)) } else { Err(UnfitSchema::Impossible) };
        }
        match self.value_rule(others, depth) {
            Ok(value) => Ok(self.rules.map_rule(&value, min, max)),
            Err(UnfitSchema::Impossible) if min == 0 => Ok(self.rules.map_rule("", 0, 0)),
            Err(unfit) => Err(unfit),
        }
    }

    fn member_rule(&mut self, name: &str, schema: &Value, depth: usize) -> RuleResult {
        let name = json!(name).to_string();
        if name.len() > MAX_LITERAL {
            return Err(UnfitSchema::Impossible);
        }
        let value = self.value_rule(schema, depth)?;
        Ok(self.rules.add(format!("{} {value}", quote_literal(&format!("{name}:")))))
    }
}

/// The body of an object: all required members, then any of the optional ones, in order.
fn object_body(required: &[String], optional: &[String]) -> String {
    let may = |members: &[String]| members.iter().map(|m| format!(r#" ( "," {m} )?"#)).collect::<String>();
    let inside = if required.is_empty() {
        let begins = |at: usize| format!("{}{}", optional[at], may(&optional[at + 1..]));
        let all: Vec<_> = (0..optional.len()).map(begins).collect();
        if all.is_empty() { String::new() } else { format!("( {} )? ", all.join(" | ")) }
    } else {
        format!("{}{} ", required.join(r#" "," "#), may(optional))
    };
    format!(r#""{{" {inside}"}}""#)
}

/// Keywords that imply a type.
const SAYS_TYPE: [&str; 16] = [
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
];

/// The types that a schema allows, guessed from its keywords if it has none.
fn schema_types(flat: &FlatSchema) -> Vec<&str> {
    let has = |names: &[&str]| names.iter().any(|name| flat.contains_key(*name));
    match flat.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).collect(),
        _ if has(&["items", "prefixItems", "minItems", "maxItems"]) => vec!["array"],
        _ if has(&["minLength", "maxLength", "pattern", "format"]) => vec!["string"],
        _ if has(&["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]) => vec!["number"],
        _ => vec!["object"],
    }
}

fn is_of_type(value: &Value, of: &str) -> bool {
    match of {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        _ => false,
    }
}

/// A numeric limit of a schema. One that is too large for this machine is never reached.
fn count_bound(flat: &FlatSchema, name: &str) -> Option<usize> {
    let bound = flat.get(name)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a cast of a float saturates"
    )]
    let of_float = || bound.as_f64().map(|bound| bound as usize);
    bound.as_u64().map(|bound| usize::try_from(bound).unwrap_or(usize::MAX)).or_else(of_float)
}

/// Formats with a rule: a model gets the form right more often with it.
fn format_of(name: &str) -> Option<String> {
    const DATE: &str =
        r#"[1-2] [0-9]{3} "-" ( "0" [1-9] | "1" [0-2] ) "-" ( "0" [1-9] | "1" [0-9] | "2" [0-8] )"#;
    const TIME: &str = r#"( [0-1] [0-9] | "2" [0-3] ) ":" [0-5] [0-9] ":" [0-5] [0-9] "Z""#;
    match name {
        "date" => Some(DATE.to_owned()),
        "time" => Some(TIME.to_owned()),
        "date-time" => Some(format!(r#"{DATE} "T" {TIME}"#)),
        _ => None,
    }
}

/// Whether a schema has more values than `left`.
fn is_larger(value: &Value, left: &mut usize) -> bool {
    let Some(rest) = left.checked_sub(1) else { return true };
    *left = rest;
    match value {
        Value::Object(members) => members.values().any(|value| is_larger(value, left)),
        Value::Array(items) => items.iter().any(|value| is_larger(value, left)),
        _ => false,
    }
}
