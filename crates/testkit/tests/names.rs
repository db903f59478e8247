//! How things are named: a type name is unique in its crate, shadows nothing of the prelude, and is rarely a single word.
//! A text scan over the code that ships: tests, examples and this crate are left out.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// Names of the standard prelude, and names that say as little as they do.
const RESERVED: &[&str] = &[
    "AsMut",
    "AsRef",
    "Box",
    "Clone",
    "Copy",
    "Debug",
    "Default",
    "Drop",
    "Eq",
    "Err",
    "Error",
    "Extend",
    "Fn",
    "FnMut",
    "FnOnce",
    "From",
    "Future",
    "Hash",
    "Into",
    "IntoIterator",
    "Iterator",
    "None",
    "Ok",
    "Option",
    "Ord",
    "PartialEq",
    "PartialOrd",
    "Pin",
    "Result",
    "Send",
    "Sized",
    "Some",
    "String",
    "Sync",
    "ToOwned",
    "ToString",
    "TryFrom",
    "TryInto",
    "Unpin",
    "Vec",
];

/// Upper bounds for the shares of short names, in percent. Lower them, never raise them.
const MAX_ONE_WORD_TYPES: usize = 25;
const MAX_SHARED_TYPES: usize = 10;
const MAX_ONE_WORD_FUNCTIONS: usize = 45;

const LEFT_OUT: &[&str] = &["target", "tests", "examples", "benches", "testkit", "node_modules"];

struct Named {
    name: String,
    place: String,
}

#[derive(Default)]
struct Names {
    types: Vec<Named>,
    functions: Vec<Named>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn source_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if !LEFT_OUT.contains(&name.as_str()) {
                source_files(&path, found);
            }
        } else if name.ends_with(".rs") && name != "tests.rs" {
            found.push(path);
        }
    }
}

/// The word after a keyword, if the line has that keyword where an item begins.
fn item<'a>(line: &'a str, keywords: &[&str]) -> Option<&'a str> {
    let mut words = line.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
    let before = ["pub", "crate", "super", "self", "in", "const", "async", "unsafe", "default"];
    let keyword = words.find(|word| !before.contains(word))?;
    keywords.contains(&keyword).then(|| words.next()).flatten()
}

fn names() -> BTreeMap<String, Names> {
    let mut crates: BTreeMap<String, Names> = BTreeMap::new();
    let folders = ["crates", "apps"].into_iter().flat_map(|top| fs::read_dir(root().join(top)).unwrap());
    for path in folders.map(|entry| entry.unwrap().path()).chain([root().join("evals")]) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !path.is_dir() || LEFT_OUT.contains(&name.as_str()) {
            continue;
        }
        let mut files = Vec::new();
        source_files(&path, &mut files);
        let package = path.strip_prefix(root()).unwrap_or(&path).display().to_string();
        let found = crates.entry(package).or_default();
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            let shipped = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            let place = file.strip_prefix(root()).unwrap_or(&file).display().to_string();
            for (number, line) in shipped.lines().enumerate() {
                let named =
                    |name: &str| Named { name: name.to_owned(), place: format!("{place}:{}", number + 1) };
                if line.trim_start().starts_with("//") {
                    continue;
                }
                // Types inside of a function or a macro are not visible elsewhere.
                if !line.starts_with(' ') {
                    found.types.extend(item(line, &["struct", "enum", "trait"]).map(named));
                }
                found.functions.extend(item(line, &["fn"]).map(named));
            }
        }
    }
    crates
}

fn is_one_word(type_name: &str) -> bool {
    type_name.chars().filter(char::is_ascii_uppercase).count() <= 1
}

fn assert_share(what: &str, part: usize, whole: usize, bound: usize) {
    let share = 100 * part / whole.max(1);
    assert!(share < bound, "{what}: {part} of {whole}, which is {share} %; the bound is below {bound} %");
}

#[test]
fn a_type_name_occurs_once_in_its_crate() {
    let mut faults = Vec::new();
    for (package, names) in names() {
        let mut places: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for named in &names.types {
            places.entry(&named.name).or_default().push(&named.place);
        }
        // Two in one file are the same type for two operating systems.
        let file = |place: &&str| place.split(':').next().map(str::to_owned);
        let in_several = |places: &[&str]| places.iter().any(|place| file(place) != file(&places[0]));
        for (name, places) in places.into_iter().filter(|(_, places)| in_several(places)) {
            faults.push(format!("{package}: {name} in {}", places.join(", ")));
        }
    }
    assert!(faults.is_empty(), "give each type a name of its own:\n{}", faults.join("\n"));
}

#[test]
fn no_type_has_a_name_of_the_prelude() {
    let crates = names();
    let types = crates.values().flat_map(|names| &names.types);
    let faults: Vec<_> = types
        .filter(|named| RESERVED.contains(&named.name.as_str()))
        .map(|named| format!("{} at {}", named.name, named.place))
        .collect();
    assert!(faults.is_empty(), "these names are taken:\n{}", faults.join("\n"));
}

#[test]
fn names_say_what_they_mean() {
    let crates = names();
    let types: Vec<_> = crates.values().flat_map(|names| &names.types).collect();
    let functions: Vec<_> = crates.values().flat_map(|names| &names.functions).collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for named in &types {
        *counts.entry(&named.name).or_default() += 1;
    }
    let one_word = types.iter().filter(|named| is_one_word(&named.name)).count();
    let shared = types.iter().filter(|named| counts[named.name.as_str()] > 1).count();
    let short = functions.iter().filter(|named| !named.name.contains('_')).count();
    assert_share("one-word type names", one_word, types.len(), MAX_ONE_WORD_TYPES);
    assert_share("type names that another type has", shared, types.len(), MAX_SHARED_TYPES);
    assert_share("one-word function names", short, functions.len(), MAX_ONE_WORD_FUNCTIONS);
}
