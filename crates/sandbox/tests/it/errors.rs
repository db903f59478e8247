//! Errors and their positions.

use toolyard_sandbox::{SandboxError, SandboxLimits, SourcePosition};

use crate::error;
use crate::support::{job, run, sandbox, with_args};

fn place(line: u32, column: u32) -> Option<SourcePosition> {
    Some(SourcePosition { line, column })
}

#[tokio::test]
async fn a_thrown_error_says_where_in_the_authors_code() {
    let thrown = |text: &str, place| SandboxError::Thrown { text: text.into(), place };
    assert_eq!(error(job("throw new Error('no')")).await, thrown("Error: no", place(1, 11)));
    let source = "const x = null;\nfunction f() {\n  return x.y;\n}\nawait 0;\nreturn f();";
    assert_eq!(error(job(source)).await, thrown("TypeError: cannot read property 'y' of null", place(3, 10)));
    // Through a function of ours: the author's line counts, not ours.
    let SandboxError::Thrown { place, .. } = error(job("\n\n[].reduce()")).await else { panic!() };
    assert_eq!(place.unwrap().line, 3);
    let SandboxError::Thrown { place, .. } = error(job("\n'a'.normalize('x')")).await else { panic!() };
    assert_eq!(place.unwrap().line, 2);
    assert_eq!(error(job("throw 'text'")).await, thrown("text", None));
    assert_eq!(error(job("throw { code: 7 }")).await, thrown(r#"{"code":7}"#, None));
    assert_eq!(
        error(job("return Promise.reject(new RangeError('r'))")).await.to_string(),
        "RangeError: r (line 1, column 27)"
    );
}

#[tokio::test]
async fn a_syntax_error_says_where() {
    let SandboxError::Syntax { place, text } = error(job("const a = 1;\nconst b = ;")).await else {
        panic!()
    };
    assert_eq!(place.unwrap(), SourcePosition { line: 2, column: 11 }, "{text}");
    let SandboxError::Syntax { place, .. } = error(job("retrun 1")).await else { panic!() };
    assert_eq!(place.unwrap(), SourcePosition { line: 1, column: 8 });
    for source in ["return 1 }", "if (1) {", "}), (1", "import x from 'y'", "\0", "`"] {
        assert!(matches!(error(job(source)).await, SandboxError::Syntax { .. }), "{source:?}");
    }
}

#[tokio::test]
async fn an_error_in_a_timer_or_a_microtask_ends_the_run() {
    for source in [
        "setTimeout(() => { throw new Error('lost') }); await new Promise(() => 0)",
        "queueMicrotask(() => { throw new Error('lost') }); await new Promise(() => 0)",
    ] {
        let SandboxError::Thrown { text, .. } = error(job(source)).await else { panic!("{source}") };
        assert_eq!(text, "Error: lost");
    }
}

#[tokio::test]
async fn sizes_are_checked_before_anything_runs() {
    let limits = SandboxLimits { source_bytes: 10, input_bytes: 10, ..SandboxLimits::default() };
    let sandbox = sandbox(limits);
    run(&sandbox, job("return 123")).await.unwrap();
    let error = run(&sandbox, job("return 1234")).await.unwrap_err();
    assert_eq!(error, SandboxError::SourceTooLarge { limit: 10 });
    let error = run(&sandbox, with_args("", r#"["1234567"]"#)).await.unwrap_err();
    assert_eq!(error, SandboxError::InputTooLarge { limit: 10 });
    run(&sandbox, with_args("", r#"["123456"]"#)).await.unwrap();
}
