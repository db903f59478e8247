//! GBNF as far as our grammars use it: literals, classes, groups, references, `?`, `{m}`, `{m,n}`. Anything else is an
//! error, and so is a missing or unused rule.

use std::collections::{HashMap, HashSet};

use toolyard_core::ports::IdGenerator;

#[derive(Debug, Clone)]
enum GbnfNode {
    Text(String),
    Class { not: bool, ranges: Vec<(char, char)> },
    Rule(String),
    Sequence(Vec<GbnfNode>),
    Choice(Vec<GbnfNode>),
    Times(Box<GbnfNode>, usize, usize),
}

#[derive(Debug)]
pub(super) struct Gbnf {
    rules: HashMap<String, GbnfNode>,
}

impl Gbnf {
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let mut rules = HashMap::new();
        for line in text.lines() {
            let (name, body) = line.split_once(" ::= ").ok_or_else(|| format!("no rule: {line}"))?;
            if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
                return Err(format!("no name: {name}"));
            }
            let mut reader = GbnfReader { rest: body };
            let node = reader.choice()?;
            if !reader.rest.is_empty() {
                return Err(format!("{name}: what is {}", reader.rest));
            }
            if rules.insert(name.to_owned(), node).is_some() {
                return Err(format!("{name} comes twice"));
            }
        }
        let gbnf = Self { rules };
        let mut used = HashSet::new();
        gbnf.follow("root", &mut used)?;
        Ok(gbnf)
    }

    fn follow(&self, name: &str, used: &mut HashSet<String>) -> Result<(), String> {
        let node = self.rules.get(name).ok_or_else(|| format!("{name} is missing"))?;
        if !used.insert(name.to_owned()) {
            return Ok(());
        }
        let mut open = vec![node];
        while let Some(node) = open.pop() {
            match node {
                GbnfNode::Rule(name) => self.follow(name, used)?,
                GbnfNode::Sequence(nodes) | GbnfNode::Choice(nodes) => open.extend(nodes),
                GbnfNode::Times(node, ..) => open.push(node),
                GbnfNode::Text(_) | GbnfNode::Class { .. } => {}
            }
        }
        Ok(())
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        self.ends(&GbnfNode::Rule("root".to_owned()), &text, 0).contains(&text.len())
    }

    /// Where a node that begins at `from` may end.
    fn ends(&self, node: &GbnfNode, text: &[char], from: usize) -> HashSet<usize> {
        match node {
            GbnfNode::Text(wanted) => {
                let wanted: Vec<char> = wanted.chars().collect();
                if text[from..].starts_with(&wanted) {
                    HashSet::from([from + wanted.len()])
                } else {
                    HashSet::new()
                }
            }
            GbnfNode::Class { not, ranges } => match text.get(from) {
                Some(c) if ranges.iter().any(|(a, b)| (a..=b).contains(&c)) != *not => {
                    HashSet::from([from + 1])
                }
                _ => HashSet::new(),
            },
            GbnfNode::Rule(name) => self.ends(&self.rules[name], text, from),
            GbnfNode::Sequence(nodes) => nodes.iter().fold(HashSet::from([from]), |starts, node| {
                starts.into_iter().flat_map(|start| self.ends(node, text, start)).collect()
            }),
            GbnfNode::Choice(nodes) => nodes.iter().flat_map(|node| self.ends(node, text, from)).collect(),
            GbnfNode::Times(node, min, max) => {
                let (mut here, mut all) = (HashSet::from([from]), HashSet::new());
                for time in 0..=*max {
                    if time >= *min {
                        all.extend(here.iter().copied());
                    }
                    here = here.into_iter().flat_map(|start| self.ends(node, text, start)).collect();
                    if here.is_empty() {
                        break;
                    }
                }
                all
            }
        }
    }

    /// A random text that the grammar allows.
    pub(super) fn write(&self, chance: &dyn IdGenerator) -> String {
        let mut out = String::new();
        self.put(&GbnfNode::Rule("root".to_owned()), chance, &mut out);
        out
    }

    fn put(&self, node: &GbnfNode, chance: &dyn IdGenerator, out: &mut String) {
        let pick = |below: usize| {
            let mut bytes = [0; 4];
            chance.fill_random(&mut bytes);
            u32::from_be_bytes(bytes) as usize % below
        };
        match node {
            GbnfNode::Text(text) => out.push_str(text),
            GbnfNode::Class { not: false, ranges } => {
                let (from, to) = ranges[pick(ranges.len())];
                let all: Vec<char> = (from..=to).collect();
                out.push(all[pick(all.len())]);
            }
            GbnfNode::Class { not: true, ranges } => {
                let odd =
                    ['a', 'Z', '7', ' ', '<', '/', 'é', '日', '🙂', '\'', '{', '}', ',', ':', '\u{2028}'];
                let fits: Vec<_> =
                    odd.into_iter().filter(|c| !ranges.iter().any(|(a, b)| (a..=b).contains(&c))).collect();
                out.push(fits[pick(fits.len())]);
            }
            GbnfNode::Rule(name) => self.put(&self.rules[name], chance, out),
            GbnfNode::Sequence(nodes) => nodes.iter().for_each(|node| self.put(node, chance, out)),
            GbnfNode::Choice(nodes) => self.put(&nodes[pick(nodes.len())], chance, out),
            GbnfNode::Times(node, min, max) => {
                let times = if pick(4) == 0 { *max } else { min + pick(max - min + 1).min(5) };
                (0..times).for_each(|_| self.put(node, chance, out));
            }
        }
    }
}

struct GbnfReader<'a> {
    rest: &'a str,
}

impl GbnfReader<'_> {
    fn choice(&mut self) -> Result<GbnfNode, String> {
        let mut all = vec![self.sequence()?];
        while self.eat("| ") {
            all.push(self.sequence()?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { GbnfNode::Choice(all) })
    }

    fn sequence(&mut self) -> Result<GbnfNode, String> {
        let mut all = Vec::new();
        loop {
            self.eat(" ");
            if self.rest.is_empty() || self.rest.starts_with(['|', ')']) {
                break;
            }
            let node = self.atom()?;
            all.push(self.repeated(node)?);
        }
        if all.is_empty() {
            Err(format!("nothing before {:?}", self.rest))
        } else {
            Ok(GbnfNode::Sequence(all))
        }
    }

    fn atom(&mut self) -> Result<GbnfNode, String> {
        if self.eat("( ") {
            let inside = self.choice()?;
            return if self.eat(")") {
                Ok(inside)
            } else {
                Err(format!("not closed before {:?}", self.rest))
            };
        }
        if self.eat("\"") {
            let mut text = String::new();
            while !self.eat("\"") {
                text.push(self.char()?);
            }
            return if text.is_empty() {
                Err("an empty literal".to_owned())
            } else {
                Ok(GbnfNode::Text(text))
            };
        }
        if self.eat("[") {
            let not = self.eat("^");
            let mut ranges = Vec::new();
            while !self.eat("]") {
                let from = self.char()?;
                let to = if self.eat("-") { self.char()? } else { from };
                ranges.push((from, to));
            }
            return Ok(GbnfNode::Class { not, ranges });
        }
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        if name.is_empty() {
            return Err(format!("what is {:?}", self.rest));
        }
        self.rest = rest;
        Ok(GbnfNode::Rule(name.to_owned()))
    }

    fn repeated(&mut self, node: GbnfNode) -> Result<GbnfNode, String> {
        if self.eat("?") {
            return Ok(GbnfNode::Times(Box::new(node), 0, 1));
        }
        if !self.eat("{") {
            return Ok(node);
        }
        let (inside, rest) = self.rest.split_once('}').ok_or("a brace is open")?;
        self.rest = rest;
        let (min, max) = inside.split_once(',').unwrap_or((inside, inside));
        let number = |text: &str| text.parse::<usize>().map_err(|error| error.to_string());
        let (min, max) = (number(min)?, number(max)?);
        // llama.cpp allows at most 2000 repetitions, and less if memory is short.
        if min > max || max > 1_000 {
            Err(format!("{min} to {max} times"))
        } else {
            Ok(GbnfNode::Times(Box::new(node), min, max))
        }
    }

    fn char(&mut self) -> Result<char, String> {
        let mut chars = self.rest.chars();
        let found = match chars.next().ok_or("the end in a literal")? {
            '\\' => match chars.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('x') => {
                    let hex: String = chars.by_ref().take(2).collect();
                    char::from(u8::from_str_radix(&hex, 16).map_err(|error| error.to_string())?)
                }
                Some(c @ ('"' | '\\' | '[' | ']')) => c,
                odd => return Err(format!("an escape of {odd:?}")),
            },
            c if c.is_ascii_control() => return Err(format!("a bare {c:?}")),
            c => c,
        };
        self.rest = chars.as_str();
        Ok(found)
    }

    fn eat(&mut self, start: &str) -> bool {
        match self.rest.strip_prefix(start) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }
}

#[test]
fn the_gbnf_reader_rejects_invalid_texts() {
    let gbnf = Gbnf::read("root ::= \"a\" r0{2,3} ( \"-\" | [^x-z\\x0A] )?\nr0 ::= [0-9]").unwrap();
    for (text, fits) in
        [("a12", true), ("a123-", true), ("a1", false), ("a1234", true), ("a12x", false), ("12", false)]
    {
        assert_eq!(gbnf.matches(text), fits, "{text}");
    }
    for wrong in [
        "root ::= ",
        "root ::= r1",
        "root ::= \"a",
        "root ::= \"\"",
        "root ::= \"a\"{2,1}",
        "x ::= \"a\"",
        "root ::= \"a\"\nroot ::= \"b\"",
    ] {
        assert!(Gbnf::read(wrong).is_err(), "{wrong}");
    }
}
