//! `toolyard migrate`

use serde_json::{Value, json};

use crate::{app, fixture::Yard};

fn note() -> Value {
    json!({
        "name": "note", "description": "Writes a note",
        "inputSchema": {
            "type": "object", "properties": { "text": { "type": "string", "description": "The note" } }, "required": ["text"],
        },
        "mentraExtensions": { "activationPhrases": ["note", "write down"] },
    })
}

#[tokio::test]
async fn all_three_forms_are_printed_as_definitions() {
    let yard = Yard::start().await;
    let files = [
        ("config.json", app::config(), json!({ "tools": [note()] })),
        ("console.json", app::config()["tools"].clone(), json!({ "tools": [note()] })),
        ("definitions.json", app::tools(), app::tools()),
        ("list.json", app::tools()["tools"].clone(), app::tools()),
    ];
    for (name, file, expected) in files {
        let file = yard.file(name, &file.to_string());
        let (text, json) =
            (["migrate", file.to_str().unwrap()], ["migrate", file.to_str().unwrap(), "--json"]);
        assert_eq!(yard.run(&text).await.json(), expected, "{name}");
        assert_eq!(yard.run(&json).await.json(), expected, "{name}");
    }
}

#[tokio::test]
async fn all_three_forms_are_published() {
    let yard = Yard::start().await;
    yard.run(&["apps", "add", "--package", "com.example.notes"]).await.good();
    let files = [
        ("config.json", app::config(), "tpa-config", 1),
        ("console.json", app::config()["tools"].clone(), "console", 1),
        ("definitions.json", app::tools(), "definitions", 5),
    ];
    for (name, file, form, count) in files {
        let file = yard.file(name, &file.to_string());
        let into = [
            "migrate",
            file.to_str().unwrap(),
            "--into",
            &yard.url,
            "--package",
            "com.example.notes",
            "--json",
        ];
        let published = yard.run(&into).await.json();
        assert_eq!((&published["form"], &published["toolCount"]), (&json!(form), &json!(count)));
        let tools = yard.run(&["apps", "tools", "com.example.notes", "--json"]).await.json();
        assert_eq!(
            (&tools["version"], tools["tools"].as_array().unwrap().len()),
            (&published["version"], count)
        );
    }
}

#[tokio::test]
async fn problems_are_listed_and_nothing_is_published() {
    let yard = Yard::start().await;
    yard.run(&["apps", "add", "--package", "com.example.notes"]).await.good();
    let file = yard.file(
        "bad.json",
        r#"[{"id":"good","description":"d"},{"id":"a:b","description":"d"},{"id":"c","description":7,"parameters":{"x":{"type":"list"}}}]"#,
    );
    let into = ["migrate", file.to_str().unwrap(), "--into", &yard.url, "--package", "com.example.notes"];
    let refused = yard.run(&into).await.bad();
    for words in [
        "  - tools[1].id: ",
        "  - tools[2].description: ",
        "  - tools[2].parameters.x.type: ",
        "nothing was changed",
    ] {
        assert!(refused.contains(words), "{refused}");
    }
    assert_eq!(
        yard.run(&["apps", "tools", "com.example.notes", "--json"]).await.json(),
        json!({ "version": 0, "tools": [] })
    );

    let good = yard.file("good.json", &app::config().to_string());
    let elsewhere =
        ["migrate", good.to_str().unwrap(), "--into", &yard.url, "--package", "com.example.other"];
    assert!(yard.run(&elsewhere).await.bad().contains("there is no app com.example.other"));
    let nameless = yard.run(&["migrate", good.to_str().unwrap(), "--into", &yard.url]).await;
    assert_eq!(nameless.code, 2);
    assert!(nameless.err.contains("--package"), "{}", nameless.err);
    for (text, words) in
        [("{", "not JSON"), ("{}", "no tools found"), ("[]", "no tools found"), ("7", "expected a list")]
    {
        let file = yard.file("odd.json", text);
        let refused = yard.run(&["migrate", file.to_str().unwrap()]).await.bad();
        assert!(refused.contains(words), "{text}: {refused}");
    }
    assert!(yard.run(&["migrate", "missing.json"]).await.bad().contains("cannot read missing.json"));
}
