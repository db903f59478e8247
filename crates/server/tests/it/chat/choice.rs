//! Which tools a model is offered.

use serde_json::{Value, json};
use toolyard_core::catalog::{CatalogView, McpListKind, ViewScope};
use toolyard_testkit::{FakeApp, model::ScriptedReply};

use super::{asks, chunks, of, offered, one, says, script, with, with_model, words};
use crate::platform::{Device, ECHO, Platform};

const WORDS: [&str; 12] = [
    "weather",
    "calendar",
    "mail",
    "music",
    "photo",
    "shopping",
    "train",
    "recipe",
    "stock",
    "news",
    "translation",
    "lamp",
];

/// An app with a tool for each word, installed for ada.
async fn many(p: &Platform) -> (FakeApp, Device) {
    let tool = |word: &&str| {
        json!({ "name": format!("{word}_tool"), "description": format!("Everything about the {word}."),
            "inputSchema": { "type": "object" }, "mentraExtensions": { "category": if *word == "mail" { "communication" } else { "other" } } })
    };
    p.echo_like(json!({ "tools": WORDS.iter().map(tool).collect::<Vec<Value>>() })).await
}

fn alias(word: &str) -> String {
    format!("com_example_echo__{word}_tool")
}

#[tokio::test]
async fn of_many_tools_the_best_are_sent_and_those_in_use_stay() {
    let (p, model) = with_model(|config| config.chat.tools = 4).await;
    let (_app, _device) = many(&p).await;
    script(
        &model,
        [
            ScriptedReply::call(&alias("recipe"), json!({})),
            ScriptedReply::text("ok"),
            ScriptedReply::text("ok"),
        ],
    );
    chunks(&p.user("ada"), asks("a recipe with stock, please")).await;
    let seen = model.requests();
    for tools in [offered(&seen[0]), offered(&seen[1])] {
        assert!(tools.len() <= 6 && tools.contains(&alias("recipe")), "{tools:?}");
    }
    assert_eq!(offered(&seen[0]).len(), 4);
    let used = json!({ "role": "assistant", "parts": [{ "type": format!("tool-{}", alias("recipe")), "toolCallId": "c1",
        "state": "output-available", "input": {}, "output": "soup" }, { "type": "text", "text": "Soup." }] });
    chunks(&p.user("ada"), json!({ "messages": [says("a recipe"), used, says("play some music")] })).await;
    let tools = offered(&model.requests()[2]);
    assert!(tools.contains(&alias("recipe")) && tools.contains(&alias("music")), "{tools:?}");
}

#[tokio::test]
async fn a_tool_outside_of_the_shortlist_can_still_be_called() {
    let (p, model) = with_model(|config| config.chat.tools = 2).await;
    let (app, _device) = many(&p).await;
    script(&model, [ScriptedReply::call(&alias("lamp"), json!({})), ScriptedReply::text("Lit.")]);
    chunks(&p.user("ada"), asks("the weather and the mail")).await;
    assert!(!offered(&model.requests()[0]).contains(&alias("lamp")));
    assert_eq!(app.requests("/tool").len(), 1);
    assert!(offered(&model.requests()[1]).contains(&alias("lamp")), "it is in use now");
}

#[tokio::test]
async fn categories_choose_and_what_was_not_chosen_cannot_be_called() {
    let (p, model) = with_model(|config| config.chat.tools = 4).await;
    let (app, _device) = many(&p).await;
    script(
        &model,
        [ScriptedReply::call(&alias("lamp"), json!({})), ScriptedReply::text("There is no lamp.")],
    );
    let told =
        chunks(&p.user("ada"), with(asks("light"), json!({ "selectedToolCategories": ["communication"] })))
            .await;
    assert_eq!(offered(&model.requests()[0]), [alias("mail")]);
    assert!(one(&told, "tool-output-error")["errorText"].as_str().unwrap().contains("no tool"));
    assert_eq!(app.requests("/tool").len(), 0);
}

#[tokio::test]
async fn the_interface_adds_tools_of_its_own() {
    let (p, model) = with_model(|_| {}).await;
    let (_app, _device) = p.echo().await;
    model.set_default_reply(ScriptedReply::text("ok"));
    let body = with(asks("x"), json!({ "selectedToolCategories": ["interface"] }));
    chunks(&p.user("ada"), body.clone()).await;
    let tools = offered(&model.requests()[0]);
    for name in ["open_page", "show_chart", "celebrate"] {
        assert!(tools.contains(&name.to_owned()), "{tools:?}");
    }
    chunks(&p.user("ada").header("x-mcp-mode", "true"), body).await;
    assert_eq!(offered(&model.requests()[1]), ["com_example_echo__echo"]);
    chunks(&p.user("ada"), asks("x")).await;
    assert_eq!(offered(&model.requests()[2]), ["com_example_echo__echo"]);
    // A client tool of the same name wins.
    let own = json!([{ "name": "open_page", "description": "mine", "parameters": { "type": "object" } }]);
    chunks(
        &p.user("ada"),
        with(asks("x"), json!({ "selectedToolCategories": ["interface"], "clientTools": own })),
    )
    .await;
    let pages: Vec<_> = model.requests()[3].body["tools"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|tool| tool["function"]["name"] == "open_page")
        .cloned()
        .collect();
    assert_eq!((pages.len(), &pages[0]["function"]["description"]), (1, &json!("mine")));
}

#[tokio::test]
async fn tools_are_found_by_search_and_then_called() {
    let (p, model) = with_model(|config| {
        config.chat.tools = 4;
        config.builtin.enabled = true;
    })
    .await;
    let (app, _device) = many(&p).await;
    script(
        &model,
        [
            ScriptedReply::call("toolyard__search_tools", json!({ "query": "lamp" })),
            ScriptedReply::call(&alias("lamp"), json!({})),
            ScriptedReply::text("Lit."),
        ],
    );
    let told = chunks(&p.user("ada"), asks("do what you like")).await;
    assert!(
        offered(&model.requests()[0]).contains(&"toolyard__search_tools".to_owned()),
        "{:?}",
        offered(&model.requests()[0])
    );
    let found = of(&told, "tool-output-available")[0]["output"].as_str().unwrap().to_owned();
    assert!(found.starts_with(&format!("{}: ", alias("lamp"))), "{found}");
    assert!(offered(&model.requests()[1]).contains(&alias("lamp")), "what was found is at hand");
    assert_eq!((words(&told).as_str(), app.requests("/tool").len()), ("Lit.", 1));
}

#[tokio::test]
async fn search_finds_only_tools_that_the_chat_may_call() {
    let (p, model) = with_model(|config| {
        config.chat.tools = 4;
        config.builtin.enabled = true;
    })
    .await;
    let (app, _device) = many(&p).await;
    let search = || ScriptedReply::call("toolyard__search_tools", json!({ "query": "lamp mail music" }));
    let (lamp, mail, music) = (alias("lamp"), alias("mail"), alias("music"));
    let everything = vec![lamp.as_str(), &mail, &music];
    for (more, wanted) in [
        (json!({}), everything.clone()),
        (json!({ "excludedTools": [lamp, "com.example.echo:mail_tool"] }), vec![&music]),
        (
            json!({ "exactToolNames": ["toolyard__search_tools", lamp], "ignoreOtherTools": true }),
            vec![&lamp],
        ),
        (json!({ "selectedToolCategories": ["other", "utility"] }), vec![&lamp, &music]),
        // Client tools do not count.
        (json!({ "clientTools": [super::weather()] }), everything),
    ] {
        script(&model, [search(), ScriptedReply::text("ok")]);
        let told = chunks(&p.user("ada"), with(asks("do what you like"), more.clone())).await;
        let found = one(&told, "tool-output-available")["output"].as_str().unwrap().to_owned();
        let named: Vec<&str> = [&lamp, &mail, &music]
            .map(String::as_str)
            .into_iter()
            .filter(|name| found.contains(*name))
            .collect();
        assert_eq!(named, wanted, "{more}: {found}");
    }
    assert!(app.requests("/tool").is_empty());
}

#[tokio::test]
async fn choosing_from_a_view_leaves_the_view_as_it_is() {
    let p = Platform::start().await;
    let (_app, _device) = many(&p).await;
    let view = p.state.catalog.view(&"ada".parse().unwrap(), ViewScope::Everything).await.unwrap();
    let lamp = "com.example.echo:lamp_tool";
    let chosen = view.restrict_to([lamp.parse().unwrap()].into());
    // The selection first: the shared index must not be built from it.
    let tools = |view: &CatalogView| {
        let listing: Value = serde_json::from_slice(&view.listing(None).body).unwrap();
        let page: Value = serde_json::from_slice(&view.list_page(McpListKind::Tools, None).unwrap()).unwrap();
        let [listed, paged] = [listing, page].map(|list| list["tools"].as_array().unwrap().len());
        assert_eq!((listed, paged), (view.tools().count(), view.tools().count()));
        (listed, view.list_fingerprint(McpListKind::Tools))
    };
    let (one, all) = (tools(&chosen), tools(&view));
    assert_eq!((one.0, all.0), (1, WORDS.len()));
    assert_ne!(one.1, all.1);
    assert_eq!((tools(&chosen), tools(&chosen.without_restriction())), (one, all));
    assert!(
        chosen.find_tool(&lamp.parse().unwrap()).is_ok()
            && chosen.find_tool(&alias("lamp").parse().unwrap()).is_ok()
    );
    assert!(chosen.find_tool(&alias("mail").parse().unwrap()).is_err());
}

#[tokio::test]
async fn a_tool_removed_between_two_steps_is_not_offered() {
    let (p, model) = with_model(|_| {}).await;
    let (app, _device) = p.echo().await;
    let call = || ScriptedReply::call("com_example_echo__echo", json!({ "text": "x" }));
    script(&model, [call(), call().hold_first(), ScriptedReply::text("It is gone.")]);
    let reading = super::Reading::begin(&p.user("ada"), asks("go")).await;
    model.wait_requests(2).await;
    p.user("ada").delete(&format!("/api/installs/{ECHO}")).await.expect(204);
    model.release(1);
    let told = reading.all().await;
    // A tool offered in a step can be found in that step; whether it may still run is up to the executor.
    assert_eq!((words(&told).as_str(), offered(&model.requests()[2])), ("It is gone.", vec![]));
    assert!(!app.requests("/tool").is_empty());
}
