use super::*;

/// Tokens in one line: names unchanged, strings in quotes, `#` for a number, `/r/` for a regular expression.
fn describe_tokens(code: &str) -> String {
    let lexed = lex_code(code);
    let words = lexed.tokens.iter().map(|placed| match &placed.token {
        JsToken::Name(name) => name.clone(),
        JsToken::Text { value, whole: true, .. } => format!("'{value}'"),
        JsToken::Text { value, .. } => format!("'{value}…"),
        JsToken::Number => "#".to_owned(),
        JsToken::Regex => "/r/".to_owned(),
        JsToken::Sign(sign) => sign.to_string(),
    });
    words.collect::<Vec<_>>().join(" ")
}

fn odd(code: &str) -> Vec<LexIssue> {
    lex_code(code).issues.iter().map(|odd| odd.what).collect()
}

#[test]
fn comments_and_texts_hide_nothing_and_show_nothing() {
    for (code, tokens) in [
        ("a // eval(b)\nc", "a c"),
        ("a /* eval(b) // */ c", "a c"),
        ("'// no comment' + b", "'// no comment' + b"),
        (
            r#"'it\'s' "a\"b" 'x\
y'"#,
            r#"'it's' 'a"b' 'xy'"#,
        ),
        ("`a${ f(`b${c}`, {d: 1}) }e`", "'a… ( f ( 'b… ( c '' , { d : # } ) 'e'"),
        ("`/* ${ eval } */`", "'/* … ( eval ' */'"),
        ("a\u{2028}b // c\u{2028}d", "a b d"),
    ] {
        assert_eq!(describe_tokens(code), tokens, "{code}");
        assert!(odd(code).is_empty(), "{code}");
    }
}

#[test]
fn divisions_and_regular_expressions_are_distinguished() {
    for (code, tokens) in [
        ("a / b / c", "a / b / c"),
        ("(a) / b /c", "( a ) / b / c"),
        ("x[0] / 2 / y", "x [ # ] / # / y"),
        ("return /\"/.test(b)", "return /r/ . test ( b )"),
        ("a = /[/\"]\\//gi; b", "a = /r/ ; b"),
        ("if (a) /'/.test(b); c", "if ( a ) /r/ . test ( b ) ; c"),
        ("for await (const a of b) /'/.test(c)", "for await ( const a of b ) /r/ . test ( c )"),
        ("await (a) / 2 / b", "await ( a ) / # / b"),
        ("a.return / b / c", "a . return / b / c"),
        ("`${/`/}`", "'… ( /r/ ''"),
        ("1e+5 / 0x1e+5 / .5", "# / # + # / . #"),
    ] {
        assert_eq!(describe_tokens(code), tokens, "{code}");
        assert!(odd(code).is_empty(), "{code}");
    }
    assert_eq!(
        (describe_tokens("{} /a/.b"), odd("{} /a/")),
        ("{ } /r/ . b".to_owned(), vec![LexIssue::Slash])
    );
    assert_eq!(
        (describe_tokens("a++ / b / c"), odd("a++ / b")),
        ("a + + / b / c".to_owned(), vec![LexIssue::Slash])
    );
}

#[test]
fn escapes_are_undone() {
    assert_eq!(describe_tokens(r"\u0065val \u{65}v\u0061l"), "eval eval");
    assert_eq!(odd(r"\u0065val"), [LexIssue::EscapedName]);
    assert_eq!(describe_tokens(r#"'\x65\u0076\u{61}\154\n\0'"#), "'eval\n\0'");
    let Some(JsToken::Text { escapes, .. }) = lex_code(r#"'\x65\u0076\u{61}\154\n\x01'"#).token(0).cloned()
    else {
        panic!("a text")
    };
    assert_eq!(escapes, 4);
}

#[test]
fn what_does_not_end_is_named_with_its_line() {
    for (code, what) in [
        ("a\n'b", "a text"),
        ("a\n'b\nc", "a text"),
        ("\n/* x", "a comment"),
        ("\nreturn /a", "a regular expression"),
        ("\n`a", "a template"),
        ("\n`a${b", "a template"),
    ] {
        let lexed = lex_code(code);
        assert_eq!((lexed.issues[0].what, lexed.issues[0].line), (LexIssue::Unfinished(what), 2), "{code}");
    }
    assert_eq!(odd("a \\x"), [LexIssue::Unexpected('\\'), LexIssue::EscapedName]);
    assert_eq!(odd("a ☃"), [LexIssue::Unexpected('☃')]);
}

#[test]
fn comments_of_html_are_comments_and_named() {
    for (code, tokens) in [("a <!-- `b\nc", "a c"), ("--> `b\nc", "c"), ("/* x */ --> `b\nc", "c")] {
        assert_eq!(
            (describe_tokens(code).as_str(), odd(code)),
            (tokens, vec![LexIssue::HtmlComment]),
            "{code}"
        );
    }
    assert!(odd("while (n-->0) {}").is_empty(), "n goes to 0");
}

#[test]
fn nothing_makes_it_panic_or_stand_still() {
    for code in [
        "\\",
        "'\\",
        "`${",
        "}",
        "`}${}}",
        "/",
        "/[",
        "/\\",
        "\\u{",
        "'\\u{110000}'",
        "'\\xZ'",
        "#",
        "0x",
        "<!--",
        "-->",
        "/*",
        "*/",
        "))",
    ] {
        lex_code(code);
        for other in ["'", "`", "/", "\\", "}"] {
            lex_code(&format!("{code}{other}"));
        }
    }
}
