//! The older form as documented, as web forms and databases have it, and invalid variants.

use serde_json::json;

use super::*;

fn problems(list: &Value) -> Vec<String> {
    read_tools(list).unwrap_err().iter().map(Problem::to_string).collect()
}

/// The todo list in the public documentation of the older form.
#[test]
fn reads_the_documented_example() {
    let list = json!([
        {
            "id": "add_todo",
            "description": "Add a new to-do item",
            "activationPhrases": ["add a reminder", "create a todo", "remind me to"],
            "parameters": {
                "todo_item": { "type": "string", "description": "The to-do item text", "required": true },
                "due_date": { "type": "string", "description": "Due date in ISO format (YYYY-MM-DD)" }
            }
        },
        { "id": "create_item", "description": "Create a new item", "parameters": {
            "category": { "type": "string", "description": "Category of the item", "enum": ["Category1", "Category2"] }
        } }
    ]);
    let tools = read_tools(&list).unwrap();
    let names: Vec<&str> = tools[0].parameters.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["todo_item", "due_date"]);
    assert_eq!(
        tools[0].to_definition(),
        json!({
            "name": "add_todo",
            "description": "Add a new to-do item",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "todo_item": { "type": "string", "description": "The to-do item text" },
                    "due_date": { "type": "string", "description": "Due date in ISO format (YYYY-MM-DD)" }
                },
                "required": ["todo_item"]
            },
            "mentraExtensions": { "activationPhrases": ["add a reminder", "create a todo", "remind me to"] }
        })
    );
    assert_eq!(tools[1].parameters[0].1.choices, [json!("Category1"), json!("Category2")]);
    assert_eq!(read_tools(&serde_json::to_value(&tools).unwrap()).unwrap(), tools);
}

#[test]
fn a_form_has_commas_where_a_file_has_lists() {
    let list = json!([{ "_id": { "$oid": "6" }, "id": "a", "description": "d", "activationPhrases": " add it, , make it ",
        "parameters": {
            "_id": { "$oid": "7" },
            "size": { "_id": { "$oid": "8" }, "type": "string", "enum": "small,  large,small" },
            "count": { "type": "number", "description": null, "enum": ["1", 2, "2.5"], "required": null },
            "loud": { "type": "boolean", "enum": ["true"], "min": 3 },
        } }]);
    let tool = read_tools(&list).unwrap().remove(0);
    assert_eq!(tool.activation_phrases, ["add it", "make it"]);
    let choices: Vec<&Vec<Value>> = tool.parameters.iter().map(|(_, parameter)| &parameter.choices).collect();
    assert_eq!(
        choices,
        [&vec![json!("small"), json!("large")], &vec![json!(1), json!(2), json!(2.5)], &vec![json!(true)]]
    );
    assert_eq!(
        serde_json::to_value(&tool).unwrap()["parameters"]["count"],
        json!({ "type": "number", "description": "", "enum": ["1", "2", "2.5"], "required": false })
    );
}

#[test]
fn a_parameter_may_be_called_like_the_databases_id() {
    let list = json!([{ "id": "a", "description": "d", "parameters": { "_id": { "type": "string" } } }]);
    assert_eq!(read_tools(&list).unwrap()[0].parameters[0].0, "_id");
}

#[test]
fn names_every_problem_at_once() {
    let list = json!([
        { "id": "a", "description": "d" },
        7,
        { "id": "a:b", "parameters": { "due": { "type": "date", "required": "yes", "description": 1 } } },
        { "id": "", "description": " ", "activationPhrases": ["x", 7], "parameters": [] },
        { "description": "d", "activationPhrases": 7, "parameters": { "n": { "type": "number", "enum": ["one", [1]] }, "m": {} } },
        { "id": "a", "description": "again" },
    ]);
    assert_eq!(
        problems(&list),
        [
            "tools[1]: expected an object, found a number",
            "tools[2].id: a colon separates package and tool, so an id has none",
            "tools[2].description: missing; expected a text",
            "tools[2].parameters.due.type: expected string, number or boolean, found `date`",
            "tools[2].parameters.due.description: expected a text, found a number",
            "tools[2].parameters.due.required: expected true or false, found a text",
            "tools[3].id: missing; each tool needs an id",
            "tools[3].description: missing; say what the tool does",
            "tools[3].activationPhrases[1]: expected a text, found a number",
            "tools[3].parameters: expected an object of parameters by name, found a list",
            "tools[4].id: missing; expected a text",
            "tools[4].activationPhrases: expected a list of texts, or one text with commas, found a number",
            "tools[4].parameters.n.enum[1]: expected a text, found a list",
            "tools[4].parameters.n.enum: \"one\" is no number",
            "tools[4].parameters.m.type: expected string, number or boolean, found nothing",
            "tools[5].id: `a` is already the id of tools[0]",
        ]
    );
    assert_eq!(problems(&json!({})), ["tools: expected a list of tools, found an object"]);
}

#[test]
fn every_bound_is_kept() {
    let many: Vec<Value> =
        (0..=MAX_TOOLS).map(|n| json!({ "id": format!("t{n}"), "description": "d" })).collect();
    assert_eq!(problems(&json!(many)), ["tools: 1001 tools; at most 1000"]);
    assert_eq!(read_tools(&json!(many[1..])).unwrap().len(), MAX_TOOLS);
    let bad = vec![json!({}); MAX_TOOLS];
    assert_eq!(problems(&json!(bad)).len(), MAX_PROBLEMS);
}
