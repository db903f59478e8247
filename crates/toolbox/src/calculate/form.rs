//! Brings an expression into a form that fend can evaluate safely.
//!
//! fend can be interrupted while it evaluates, not while it parses, and its parser reads the contents of a parenthesis
//! again for each possible meaning of the text before it: `1+(1+(1+(...)))` takes twice as long with each level. So
//! groups are extracted and evaluated first, each as its own step, from the inside to the outside; no step has nested
//! groups.
//!
//! Strings and functions in variables could be concatenated with themselves repeatedly, until memory or stack is used
//! up. So only numbers can be kept: see `evaluate_steps`. A few operators run or allocate without end and cannot be
//! interrupted; they are refused, as is everything that does not belong in a calculator.

use super::{CalculateError, SHOWN_CHARS};
use crate::text::truncate_text;

/// Longest expression, in characters.
pub const MAX_EXPRESSION_CHARS: usize = 1_000;

/// Deepest nesting of parentheses.
pub const MAX_DEPTH: usize = 64;

/// Most pairs of parentheses.
pub const MAX_GROUPS: usize = 100;

/// Groups up to this length stay in place if they contain no other group. `sin^(-1)` and `0.(3)` mean something that a
/// variable in the parentheses would not mean.
const INLINE_CHARS: usize = 12;

/// Prefix of the variables for groups. The letter cannot be typed, so no user variable has this name.
const GROUP_NAME: &str = "ˑgroup";

const NO_FUNCTIONS: &str = "functions cannot be defined; use variables: `a = 3; 2 * a`";
const NO_TEXT: &str = "there are no texts; write units as words, such as `feet` and `inches`";

/// Refused anywhere in an expression, and what to write instead. Longer ones first.
const NOT_OFFERED: &[(&str, &str)] = &[
    ("=>", NO_FUNCTIONS),
    (":", NO_FUNCTIONS),
    ("\\", NO_FUNCTIONS),
    ("\u{3bb}", NO_FUNCTIONS),
    // Implemented as a loop that cannot be interrupted.
    ("<<", "write `a * 2^n`"),
    (">>", "write `floor(a / 2^n)`"),
    ("\"", NO_TEXT),
    ("'", NO_TEXT),
    ("#", "write the number in base 10, or with 0x, 0o or 0b before it"),
    ("@", "there are no dates and attributes; use a tool for dates"),
    (GROUP_NAME, "choose another name"),
];

const ONE_ASSIGNMENT: &str = "write each assignment as a separate statement: `a = 3; b = 4; a * b`";

/// A part of an expression that is evaluated on its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CalculationStep {
    pub(super) code: String,
    /// A statement as it was written; otherwise a group that was extracted from one.
    pub(super) is_statement: bool,
}

/// The steps of an expression; the last one yields the result.
pub(super) fn split_steps(expression: &str) -> Result<Vec<CalculationStep>, CalculateError> {
    if expression.trim().is_empty() {
        return Err(CalculateError::Empty);
    }
    let length = expression.chars().count();
    if length > MAX_EXPRESSION_CHARS {
        return Err(CalculateError::TooLong(length));
    }
    refuse_unsupported(expression)?;
    refuse_dice(expression)?;
    refuse_hidden_assignments(expression)?;
    take_groups_out(expression)
}

fn refuse_unsupported(expression: &str) -> Result<(), CalculateError> {
    for (what, instead) in NOT_OFFERED {
        if let Some(byte) = expression.find(what) {
            let at = expression[..byte].chars().count() + 1;
            return Err(CalculateError::NotOffered { what: (*what).to_owned(), at, instead });
        }
    }
    Ok(())
}

/// Only a whole statement can be an assignment, so that its value can be checked before it is used.
fn refuse_hidden_assignments(expression: &str) -> Result<(), CalculateError> {
    let letters: Vec<char> = expression.chars().collect();
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | ' ' | '\t');
    let mut is_start = true;
    for (index, letter) in letters.iter().enumerate() {
        let is_near = |at: Option<usize>, near: &[char]| {
            at.and_then(|at| letters.get(at)).is_some_and(|c| near.contains(c))
        };
        let is_comparison = is_near(index.checked_sub(1), &['=', '!']) || is_near(Some(index + 1), &['=']);
        match letter {
            ';' | '\n' => is_start = true,
            '=' if is_comparison => is_start = false,
            '=' if is_start => is_start = false,
            '=' => {
                let what = "=".to_owned();
                return Err(CalculateError::NotOffered { what, at: index + 1, instead: ONE_ASSIGNMENT });
            }
            other => is_start &= is_name(*other),
        }
    }
    Ok(())
}

/// `2d6` is a distribution in fend, built face by face: `1d4000000000` needs hundreds of gigabytes.
fn refuse_dice(expression: &str) -> Result<(), CalculateError> {
    let letters: Vec<char> = expression.chars().collect();
    for at in 0..letters.len() {
        let is_die = letters[at] == 'd' && letters.get(at + 1).is_some_and(char::is_ascii_digit);
        let mut start = at;
        while start > 0 && (letters[start - 1].is_alphanumeric() || matches!(letters[start - 1], '_' | ',')) {
            start -= 1;
        }
        let before = &letters[start..at];
        // `0x1d4` is a number, and `rad2` a name.
        let is_name_or_hex =
            before.starts_with(&['0', 'x']) || before.last().is_some_and(|c| c.is_alphabetic());
        if is_die && !is_name_or_hex {
            let what = letters[start..=at + 1].iter().collect();
            let instead =
                "there are no dice; for a variable choose a name that does not begin with d and a digit";
            return Err(CalculateError::NotOffered { what, at: start + 1, instead });
        }
    }
    Ok(())
}

/// Operators that need an operand on both sides. `%` and `!` follow a number, `+` and `-` may precede one.
const BETWEEN: [&str; 8] = ["**", "*", "/", "^", "×", "÷", "·", "="];
/// The same, as words.
const WORDS_BETWEEN: [&str; 4] = ["of", "to", "mod", "per"];

/// fend reports such an expression only with "expected something".
fn check_complete(text: &str) -> Result<(), CalculateError> {
    let text = text.trim();
    let is_word = |word: &str, around: Option<&str>| {
        around.is_some_and(|rest| !rest.ends_with(|c: char| c.is_alphanumeric() || c == '_'))
            && !word.is_empty()
    };
    let incomplete = |operator: &str, side| {
        let part = truncate_text(text, SHOWN_CHARS);
        Err(CalculateError::Incomplete { operator: operator.to_owned(), side, part })
    };
    let signs = BETWEEN.iter().chain(&["+", "-"]).find(|sign| text.ends_with(**sign));
    let words = || WORDS_BETWEEN.iter().find(|word| is_word(word, text.strip_suffix(**word)));
    if let Some(operator) = signs.or_else(words) {
        return incomplete(operator, "after");
    }
    match BETWEEN.iter().find(|sign| text.starts_with(**sign)) {
        Some(operator) => incomplete(operator, "before"),
        None => Ok(()),
    }
}

/// A statement or a group that is still open.
struct OpenGroup {
    text: String,
    /// Position of its parenthesis, counted from 1.
    at: usize,
    has_groups: bool,
}

fn take_groups_out(expression: &str) -> Result<Vec<CalculationStep>, CalculateError> {
    let mut steps = Vec::new();
    let mut groups = 0;
    let mut statement = OpenGroup { text: String::new(), at: 0, has_groups: false };
    let mut open: Vec<OpenGroup> = Vec::new();
    for (index, letter) in expression.chars().enumerate() {
        let at = index + 1;
        match letter {
            '(' if open.len() == MAX_DEPTH => return Err(CalculateError::TooDeep(at)),
            '(' => {
                groups += 1;
                if groups > MAX_GROUPS {
                    return Err(CalculateError::TooManyGroups);
                }
                open.push(OpenGroup { text: String::new(), at, has_groups: false });
            }
            ')' => {
                let Some(group) = open.pop() else {
                    return Err(CalculateError::Unbalanced { which: ')', at });
                };
                check_complete(&group.text)?;
                let around = open.last_mut().unwrap_or(&mut statement);
                around.has_groups = true;
                if is_inline_group(&group) {
                    around.text.push_str(&format!("({})", group.text));
                } else {
                    let name = format!("{GROUP_NAME}{groups}_{at}");
                    around.text.push_str(&format!("({name})"));
                    steps.push(CalculationStep {
                        code: format!("{name} = {}", group.text),
                        is_statement: false,
                    });
                }
            }
            ';' | '\n' if open.is_empty() => finish_statement(&mut statement, &mut steps)?,
            ';' => {
                let instead = "close the parenthesis before the next statement begins";
                return Err(CalculateError::NotOffered { what: ";".to_owned(), at, instead });
            }
            other => open.last_mut().unwrap_or(&mut statement).text.push(other),
        }
    }
    if let Some(group) = open.last() {
        return Err(CalculateError::Unbalanced { which: '(', at: group.at });
    }
    finish_statement(&mut statement, &mut steps)?;
    if steps.is_empty() { Err(CalculateError::Empty) } else { Ok(steps) }
}

fn finish_statement(
    statement: &mut OpenGroup,
    steps: &mut Vec<CalculationStep>,
) -> Result<(), CalculateError> {
    let text = std::mem::take(&mut statement.text);
    if !text.trim().is_empty() {
        check_complete(&text)?;
        steps.push(CalculationStep { code: text.trim().to_owned(), is_statement: true });
    }
    Ok(())
}

fn is_inline_group(group: &OpenGroup) -> bool {
    let is_number = group.text.chars().all(|c| c.is_ascii_digit());
    !group.has_groups && (is_number || group.text.chars().count() <= INLINE_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps_of(expression: &str) -> Vec<String> {
        let steps = split_steps(expression).unwrap_or_else(|error| panic!("{expression}: {error}"));
        steps.into_iter().map(|step| step.code).collect()
    }

    #[test]
    fn short_groups_stay_and_groups_of_groups_become_steps() {
        assert_eq!(steps_of("2 * (3 + 4)"), ["2 * (3 + 4)"]);
        assert_eq!(steps_of("0.(142857142857142857)"), ["0.(142857142857142857)"]);
        assert_eq!(steps_of("1+(2+(3)) to km"), ["ˑgroup2_9 = 2+(3)", "1+(ˑgroup2_9) to km"]);
        assert_eq!(
            steps_of("sqrt(3 m * 3 m + 4 m * 4 m)"),
            ["ˑgroup1_27 = 3 m * 3 m + 4 m * 4 m", "sqrt(ˑgroup1_27)"]
        );
    }

    #[test]
    fn statements_are_steps_in_their_order() {
        assert_eq!(steps_of("a = 2;; b = 3\na * b;"), ["a = 2", "b = 3", "a * b"]);
    }

    #[test]
    fn no_step_has_groups_in_groups() {
        let nested = format!("{}1{}", "1+(".repeat(MAX_DEPTH), ")".repeat(MAX_DEPTH));
        for step in steps_of(&nested) {
            assert!(step.matches('(').count() <= 1, "{step}");
        }
    }

    #[test]
    fn parentheses_are_checked() {
        assert_eq!(split_steps("2 * (3 + 4"), Err(CalculateError::Unbalanced { which: '(', at: 5 }));
        assert_eq!(split_steps("2) * 3"), Err(CalculateError::Unbalanced { which: ')', at: 2 }));
        let deep = "(".repeat(MAX_DEPTH + 1);
        assert_eq!(split_steps(&deep), Err(CalculateError::TooDeep(MAX_DEPTH + 1)));
        assert!(split_steps(&format!("{}1{}", "(".repeat(MAX_DEPTH), ")".repeat(MAX_DEPTH))).is_ok());
        assert!(split_steps(&"(1)".repeat(MAX_GROUPS)).is_ok());
        assert_eq!(split_steps(&"(1)".repeat(MAX_GROUPS + 1)), Err(CalculateError::TooManyGroups));
    }

    #[test]
    fn incomplete_expressions_name_the_operator() {
        for (expression, operator, side) in [
            ("2 +", "+", "after"),
            ("2 + 3 *  ", "*", "after"),
            ("2 -", "-", "after"),
            ("2 **", "**", "after"),
            ("10 /", "/", "after"),
            ("2^", "^", "after"),
            ("5 km to", "to", "after"),
            ("15% of", "of", "after"),
            ("7 mod", "mod", "after"),
            ("a =", "=", "after"),
            ("2 * (3 +)", "+", "after"),
            ("sqrt(2 *)", "*", "after"),
            ("2 + 3; 4 +", "+", "after"),
            ("* 3", "*", "before"),
            ("/ 3", "/", "before"),
            ("2 + (^3)", "^", "before"),
        ] {
            let Err(CalculateError::Incomplete { operator: found, side: at, .. }) = split_steps(expression)
            else {
                panic!("{expression}: {:?}", split_steps(expression))
            };
            assert_eq!((found.as_str(), at), (operator, side), "{expression}");
        }
        for fine in
            ["-2", "+2", "15%", "5!", "3 potato", "2 + 3 auto", "30 mph", "5 ft to in", "(-2)", "of_1 = 2"]
        {
            assert!(split_steps(fine).is_ok(), "{fine}: {:?}", split_steps(fine));
        }
    }

    #[test]
    fn length_is_bounded() {
        assert!(split_steps(&"1".repeat(MAX_EXPRESSION_CHARS)).is_ok());
        let over = MAX_EXPRESSION_CHARS + 1;
        assert_eq!(split_steps(&"ä".repeat(over)), Err(CalculateError::TooLong(over)));
        for empty in ["", "  ", ";", "\n;"] {
            assert_eq!(split_steps(empty), Err(CalculateError::Empty), "{empty:?}");
        }
    }

    #[test]
    fn what_is_not_offered_is_named_with_its_place() {
        for (expression, what, at) in [
            ("f = x: x", ":", 6),
            ("x => x", "=>", 3),
            ("\\x.x", "\\", 1),
            ("λx.x", "λ", 1),
            ("1 << 3", "<<", 3),
            ("é >> 3", ">>", 3),
            ("6'2\"", "\"", 4),
            ("5'", "'", 2),
            ("16#ff", "#", 3),
            ("@debug 1", "@", 1),
            ("(1; 2)", ";", 3),
            ("a = b = 3", "=", 7),
            ("1 + (a = 3)", "=", 8),
            ("1 = 2; (a) = 3", "=", 12),
            ("2 + 2 =", "=", 7),
            ("2d6", "2d6", 1),
            ("1 + d20", "d2", 5),
            ("1,000d6", "1,000d6", 1),
        ] {
            let Err(CalculateError::NotOffered { what: found, at: place, .. }) = split_steps(expression)
            else {
                panic!("{expression} was not refused")
            };
            assert_eq!((found.as_str(), place), (what, at), "{expression}");
        }
        for fine in
            ["0x1d4", "0xd4", "rad2 = 3", "5 days", "2 d", "3 + 4", "1 == 1", "a = 1 == 2", "1 != (2 == 3)"]
        {
            assert!(split_steps(fine).is_ok(), "{fine}");
        }
    }
}
