use std::sync::atomic::Ordering;

use tokio::time::Instant;

use super::*;

fn ask(expression: &str) -> Result<ToolboxOutput, CalculateError> {
    let start = Instant::now();
    let arguments = CalculateArguments { expression: expression.to_owned() };
    calculate_blocking(&arguments, &|| start.elapsed() > Duration::from_secs(5))
}

fn result(expression: &str) -> String {
    ask(expression).unwrap_or_else(|error| panic!("{expression}: {error}")).text
}

#[test]
fn arithmetic_is_exact() {
    for (expression, expected) in [
        ("0.1+0.2", "0.3"),
        ("15% of 80", "12"),
        ("80 + 15%", "80.15"),
        ("1,000 * 3", "3000"),
        ("2 * (3 + (4 - (5 - 6)))", "16"),
        ("0.(3) * 3", "1"),
        ("17 mod 5", "2"),
        ("5!", "120"),
        ("0xff", "0xff"),
        ("255 to hex", "ff"),
        ("3 nCr 2", "3"),
        ("2 == 2", "true"),
    ] {
        assert_eq!(result(expression), expected, "{expression}");
    }
    let power = result("2^1000");
    assert!(power.starts_with("10715086071862673209484250490600018105614048117055"), "{power}");
    assert_eq!(power.len(), 302);
}

#[test]
fn units_are_converted() {
    assert_eq!(result("5 km to miles"), "approx. 3.1068559612 miles");
    assert_eq!(result("(5 km + 300 m + 200 m) to m"), "5500 m");
    assert_eq!(result("r = 3 cm; (r * r + 0 cm^2) * 2"), "18 cm^2");
    assert_eq!(result("100 °C to °F"), "212 °F");
}

#[test]
fn roots_have_the_requested_digits() {
    assert_eq!(result("sqrt(2) to 5 dp"), "approx. 1.41421");
    assert_eq!(result("sin^(-1)(1) to 4 dp"), result("asin(1) to 4 dp"));
}

#[test]
fn the_answer_has_both_forms() {
    let output = ask("1 + 1").unwrap();
    assert_eq!(output.text, "2");
    assert_eq!(output.structured, Some(json!({ "expression": "1 + 1", "result": "2", "cut": false })));
}

#[test]
fn errors_say_what_was_wrong_and_what_to_write() {
    assert_eq!(
        ask("1/0").unwrap_err().to_string(),
        "cannot calculate `1/0`: division by zero. Write it for example like `15% of 80`, `5 km to miles`, \
         `sqrt(2) to 20 dp`, `2^100`"
    );
    assert_eq!(
        ask("2 +").unwrap_err().to_string(),
        "the expression is incomplete: nothing stands after the `+` in `2 +`; add a number there, as in `2 + 3`"
    );
    let unknown = ask("2 + unobtainium").unwrap_err().to_string();
    assert!(unknown.contains("unknown identifier 'unobtainium'"), "{unknown}");
    let long = ask(&format!("{} + unobtainium", "1 + 1".repeat(100))).unwrap_err().to_string();
    assert!(long.chars().count() < 450, "{long}");
    assert!(matches!(ask("5 km to kg"), Err(CalculateError::Refused { .. })));
    assert!(matches!(ask("()"), Err(CalculateError::Refused { .. })));
}

#[test]
fn nothing_is_left_to_chance_time_or_money() {
    for expression in ["roll 6", "sample 6", "today", "5 USD to EUR"] {
        let outcome = ask(expression);
        assert!(
            matches!(outcome, Err(CalculateError::Refused { .. })) || outcome == ask(expression),
            "{expression}: {outcome:?}"
        );
    }
    assert!(ask("5 USD to EUR").is_err());
    assert!(ask("today").is_err());
}

#[test]
fn variables_end_with_the_call() {
    assert_eq!(result("apples = 7; apples * 6"), "42");
    assert!(ask("apples * 6").is_err());
    assert!(ask("ans").is_err());
}

#[test]
fn only_numbers_are_kept() {
    assert_eq!(result("zero = 0; p = 15%; r = 3 cm; c = 2i; r * zero"), "0 cm");
    assert_eq!(result("255 to roman"), "CCLV");
    // Each of these would double with every statement.
    for start in ["f = square", "square", "f = sin + 1", "f = 1 to string", "f = 1 to roman", "f = hex"] {
        let expression = format!("{start}{}", "; f = f f; f = f + f; ans + ans".repeat(25));
        assert_eq!(ask(&expression), Err(CalculateError::NotANumber(start.to_owned())));
    }
}

#[test]
fn long_results_are_cut_and_say_so() {
    let output = ask("10^5000").unwrap();
    assert!(output.text.ends_with("(cut: the result has 5001 characters; add `to 20 sf` for a rounded one)"));
    let structured = output.structured.unwrap();
    assert_eq!(structured["cut"], true);
    assert_eq!(structured["result"].as_str().unwrap().chars().count(), MAX_RESULT_CHARS + 1);
}

#[test]
fn a_calculation_ends_when_its_time_is_over() {
    for expression in ["9^9^9^9", "99999999!", "10^(10^9) + 1", "fib (10^12)", "1/(7^99999) to 9999999 dp"] {
        let arguments = CalculateArguments { expression: expression.to_owned() };
        let asked = std::sync::atomic::AtomicUsize::new(0);
        let is_over = || asked.fetch_add(1, Ordering::Relaxed) > 200;
        assert_eq!(calculate_blocking(&arguments, &is_over), Err(CalculateError::TooSlow), "{expression}");
    }
}

#[tokio::test]
async fn the_time_limit_holds_for_real() {
    let arguments = CalculateArguments { expression: "99999999!".to_owned() };
    let outcome = calculate(arguments, Duration::from_millis(20), ()).await;
    assert_eq!(outcome, Err(CalculateError::TooSlow));
    let arguments = CalculateArguments { expression: "6 * 7".to_owned() };
    assert_eq!(calculate(arguments, DEFAULT_LIMIT, ()).await.unwrap().text, "42");
}

/// Without the extraction of groups, each of these takes fend's parser an age, or overflows a stack of 2 MiB.
#[test]
fn hostile_shapes_end_soon() {
    let nested = |open: &str, inner: &str| {
        let levels = MAX_DEPTH.min((MAX_EXPRESSION_CHARS - inner.len()) / (open.len() + 1));
        format!("{}{inner}{}", open.repeat(levels), ")".repeat(levels))
    };
    let full = |unit: &str| unit.repeat(MAX_EXPRESSION_CHARS / unit.len());
    for expression in [
        nested("(", "1"),
        nested("1+(", "1"),
        nested("1(", "1"),
        nested("1 2/(", "1"),
        nested("1-1-1-1-1-(", "1"),
        nested("1(", "+*"),
        nested("1 % of (", "1"),
        nested("sin(", "1"),
        nested("-(", "1"),
        full("-") + "1",
        full("+1"),
        full("1^"),
        full("1 "),
        full("1 m "),
        full("1/"),
        full("!"),
        full("1!"),
        full("sin "),
        full("light "),
        full("a of "),
        full("% of "),
        full("a="),
        full("1;"),
        full("2%"),
        "(1)".repeat(MAX_GROUPS) + &"+1".repeat(300),
        "1(2)".repeat(MAX_GROUPS) + "*",
        full("(1+1+1+1+1)+") + "1",
        full("1(1+1+1+1)+") + "1",
        full("1 2/(1+1+1)+") + "1",
        full("-(-1+-1+-1)") + "1",
        full("square "),
        full("cis "),
        nested("cis(", "1"),
        nested("square square(", "1"),
    ] {
        let start = Instant::now();
        let outcome =
            calculate_blocking(&CalculateArguments { expression: cut_to_limit(&expression) }, &|| {
                start.elapsed() > Duration::from_millis(500)
            });
        let took = start.elapsed();
        assert!(outcome != Err(CalculateError::Failed), "{}", truncate_text(&expression, 40));
        assert!(took < Duration::from_secs(4), "{} took {took:?}", truncate_text(&expression, 40));
    }
}

fn cut_to_limit(expression: &str) -> String {
    expression.chars().take(MAX_EXPRESSION_CHARS).collect()
}
