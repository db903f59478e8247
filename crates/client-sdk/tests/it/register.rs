//! Registering plugins and tools, and what is wrong with some of them. No server is needed.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use toolyard_client_sdk::{
    Client, ClientTool, ClientToolLimits, HookError, Hooks, Plugin, PluginError, PluginManager, PluginTools,
    plugin::ManagerSettings,
};

use crate::stage::{counted, endless, soon, time, tool};

pub(crate) fn manager() -> PluginManager {
    PluginManager::new(ManagerSettings::default())
}

pub(crate) fn offline() -> Client {
    Client::new("http://127.0.0.1:1").unwrap()
}

fn plugin(name: &str, tools: &[&str]) -> Plugin {
    tools.iter().fold(Plugin::new(name, "1.0.0"), |plugin, name| plugin.tool(counted(name).0))
}

fn definition(name: &str) -> ClientTool {
    ClientTool { name: name.to_owned(), description: "d".to_owned(), parameters: json!({ "type": "object" }) }
}

fn names(manager: &PluginManager) -> Vec<String> {
    manager.tool_definitions().into_iter().map(|tool| tool.name).collect()
}

async fn refused(plugin: Plugin) -> String {
    let manager = manager();
    let told = manager.register(plugin).await.unwrap_err().to_string();
    assert_eq!(
        (manager.plugin_names().len(), manager.tool_definitions().len()),
        (0, 0),
        "nothing stays behind"
    );
    told
}

#[tokio::test]
async fn a_valid_plugin_is_registered() {
    let manager = manager();
    manager.register(Plugin::new("time", "1.0.0").tool(time())).await.unwrap();
    assert!(manager.has_plugin("time"));
    assert_eq!(names(&manager), ["get_current_time"]);
}

/// Writes down what is done with it, and sets the tools that it was made with.
struct Diary {
    entries: Arc<Mutex<Vec<&'static str>>>,
    sets: Vec<&'static str>,
    fails: bool,
}

#[async_trait]
impl Hooks for Diary {
    async fn on_register(&self, tools: &PluginTools) -> Result<(), HookError> {
        self.entries.lock().unwrap().push("registered");
        let own = tools.get().into_iter().chain(self.sets.iter().map(|name| counted(name).0)).collect();
        tools.replace(own).map_err(HookError::new)?;
        if self.fails { Err(HookError::new("no server answers")) } else { Ok(()) }
    }

    async fn on_unregister(&self) {
        self.entries.lock().unwrap().push("unregistered");
    }
}

#[tokio::test]
async fn on_register_runs_and_may_set_tools() {
    let (manager, entries) = (manager(), Arc::default());
    let diary = Diary { entries: Arc::clone(&entries), sets: vec!["found"], fails: false };
    manager.register(plugin("p", &["first"]).hooks(diary)).await.unwrap();
    assert_eq!(*entries.lock().unwrap(), ["registered"]);
    assert_eq!(names(&manager), ["first", "found"]);
}

#[tokio::test]
async fn a_plugin_that_fails_to_register_leaves_nothing_behind() {
    let manager = manager();
    let diary = || Diary { entries: Arc::default(), sets: vec!["found"], fails: true };
    let told = manager.register(plugin("p", &["first"]).hooks(diary())).await.unwrap_err();
    assert_eq!(told.to_string(), "the plugin `p` could not be registered: no server answers");
    assert!(!manager.has_plugin("p") && names(&manager).is_empty());
    // Its names are free again.
    manager.register(plugin("p", &["first", "found"])).await.unwrap();
}

#[tokio::test]
async fn a_plugin_that_sets_tools_that_cannot_be_used_is_refused() {
    let diary = Diary { entries: Arc::default(), sets: vec!["1st"], fails: false };
    let told = refused(plugin("p", &[]).hooks(diary)).await;
    assert!(told.contains("clientTools.1st: the name must begin with a letter"), "{told}");
}

struct Bad(&'static str);

#[async_trait]
impl Hooks for Bad {
    async fn on_register(&self, _: &PluginTools) -> Result<(), HookError> {
        match self.0 {
            "hangs" => std::future::pending().await,
            "panics" => panic!("on purpose"),
            _ => Ok(()),
        }
    }

    async fn on_unregister(&self) {
        match self.0 {
            "hangs at the end" => std::future::pending().await,
            "panics at the end" => panic!("on purpose"),
            _ => {}
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_plugin_that_hangs_or_panics_while_it_registers_is_refused() {
    let told = refused(plugin("p", &["a"]).hooks(Bad("hangs"))).await;
    assert_eq!(told, "the plugin `p` could not be registered: it took longer than 120s");
    let told = refused(plugin("p", &["a"]).hooks(Bad("panics"))).await;
    assert_eq!(told, "the plugin `p` could not be registered: it panicked");
}

#[tokio::test]
async fn a_cancelled_registration_leaves_nothing_behind() {
    let manager = manager();
    let registering = manager.register(plugin("p", &["a"]).hooks(Bad("hangs")));
    assert!(tokio::time::timeout(Duration::from_millis(1), registering).await.is_err());
    assert!(!manager.has_plugin("p") && names(&manager).is_empty());
    manager.register(plugin("p", &["a"])).await.unwrap();
}

#[tokio::test]
async fn a_plugin_without_a_name_is_refused() {
    assert_eq!(refused(Plugin::new(" ", "1.0.0")).await, "a plugin needs a name");
}

#[tokio::test]
async fn a_plugin_without_a_version_is_refused() {
    assert_eq!(refused(Plugin::new("p", "")).await, "the plugin `p` needs a version");
}

#[tokio::test]
async fn a_plugin_is_registered_once() {
    let manager = manager();
    manager.register(plugin("p", &["a"])).await.unwrap();
    let told = manager.register(plugin("p", &["b"])).await.unwrap_err();
    assert_eq!(told, PluginError::Duplicate { plugin: "p".to_owned() });
    assert_eq!(names(&manager), ["a"]);
}

#[tokio::test]
async fn names_of_tools_do_not_begin_with_a_digit() {
    let told = refused(plugin("p", &["good", "1bad"])).await;
    assert!(
        told.starts_with("the plugin `p` cannot be used: clientTools.1bad: the name must begin"),
        "{told}"
    );
}

#[tokio::test]
async fn names_of_tools_have_no_special_characters() {
    for name in ["my-tool", "my.tool", "my tool", "täg", ""] {
        let told = refused(plugin("p", &[name])).await;
        assert!(told.contains("letters, digits and _ only"), "{name}: {told}");
    }
}

#[tokio::test]
async fn an_executor_needs_a_tool() {
    let orphan = Plugin::new("p", "1.0.0").executor("nobody", counted("x").0.executor().clone());
    assert_eq!(
        refused(orphan).await,
        "the plugin `p` has an executor for `nobody`, but no tool of that name"
    );
}

struct Handles;

#[async_trait]
impl Hooks for Handles {
    fn handles_calls(&self) -> bool {
        true
    }
}

#[tokio::test]
async fn a_tool_needs_an_executor_or_a_hook() {
    let bare = || Plugin::new("p", "1.0.0").definition(definition("t"));
    let told = refused(bare()).await;
    assert!(told.contains("tool `t` of the plugin `p` has no executor"), "{told}");
    manager().register(bare().hooks(Handles)).await.unwrap();
    let apart = bare().executor("t", counted("t").0.executor().clone());
    manager().register(apart).await.unwrap();
}

#[tokio::test]
async fn two_plugins_cannot_have_the_same_tool() {
    let manager = manager();
    manager.register(plugin("one", &["shared"])).await.unwrap();
    let told = manager.register(plugin("two", &["own", "shared"])).await.unwrap_err();
    assert_eq!(
        told.to_string(),
        "the tool `shared` of the plugin `two` is a tool of the plugin `one` already"
    );
    assert_eq!(names(&manager), ["shared"]);
}

#[tokio::test]
async fn tools_without_a_plugin_have_names_of_their_own_too() {
    let manager = manager();
    manager.register_tool(counted("mine").0).unwrap();
    manager.register(plugin("p", &["theirs"])).await.unwrap();
    for (told, by) in [
        (manager.register_tool(counted("mine").0).unwrap_err(), "this program"),
        (manager.register_tool(counted("theirs").0).unwrap_err(), "the plugin `p`"),
        (manager.register(plugin("q", &["mine"])).await.unwrap_err(), "this program"),
    ] {
        assert!(told.to_string().ends_with(&format!("is registered already, by {by}")), "{told}");
    }
    let told = manager.register_tool(counted("1a").0).unwrap_err().to_string();
    assert!(told.starts_with("the tool cannot be used: clientTools.1a"), "{told}");
    assert_eq!(names(&manager), ["mine", "theirs"]);
}

#[tokio::test]
async fn the_limits_of_the_server_apply_when_tools_are_registered() {
    let client = Client::builder("http://127.0.0.1:1")
        .tool_limits(ClientToolLimits { tools: 2, ..ClientToolLimits::default() })
        .build()
        .unwrap();
    client.register_tool(counted("a").0).unwrap().register_tool(counted("b").0).unwrap();
    let told = client.register_tool(counted("c").0).unwrap_err().to_string();
    assert!(told.contains("3 tools; at most 2"), "{told}");
    let deep = (0..9).fold(json!({ "type": "string" }), |inside, _| json!({ "oneOf": [inside] }));
    let schema = json!({ "type": "object", "properties": { "x": deep } });
    let deep =
        Plugin::new("p", "1").definition(ClientTool { parameters: schema, ..definition("t") }).hooks(Handles);
    assert!(refused(deep).await.contains("deeper than 8 schemas"));
}

#[tokio::test]
async fn a_plugin_can_be_removed() {
    let manager = manager();
    manager.register(plugin("p", &["a"])).await.unwrap();
    manager.register(plugin("q", &["b"])).await.unwrap();
    manager.unregister("p").await.unwrap();
    assert_eq!((manager.plugin_names(), names(&manager)), (vec!["q".to_owned()], vec!["b".to_owned()]));
    assert!(!manager.has_executor("a"));
}

#[tokio::test]
async fn on_unregister_runs_when_a_plugin_is_removed() {
    let (manager, entries) = (manager(), Arc::default());
    let diary = Diary { entries: Arc::clone(&entries), sets: vec![], fails: false };
    manager.register(plugin("p", &["a"]).hooks(diary)).await.unwrap();
    manager.unregister("p").await.unwrap();
    assert_eq!(*entries.lock().unwrap(), ["registered", "unregistered"]);
}

#[tokio::test]
async fn a_plugin_that_is_not_registered_cannot_be_removed() {
    let told = manager().unregister("nobody").await.unwrap_err();
    assert_eq!(told.to_string(), "no plugin `nobody` is registered");
}

#[tokio::test(start_paused = true)]
async fn a_plugin_whose_on_unregister_fails_is_still_removed() {
    for (bad, why) in [("hangs at the end", "took longer than 10s"), ("panics at the end", "panicked")] {
        let manager = manager();
        manager.register(plugin("p", &["a"]).hooks(Bad(bad))).await.unwrap();
        let told = manager.unregister("p").await.unwrap_err().to_string();
        assert!(told.contains("is not registered any more") && told.contains(why), "{told}");
        assert!(!manager.has_plugin("p") && names(&manager).is_empty());
        manager.register(plugin("p", &["a"])).await.unwrap();
    }
}

#[tokio::test]
async fn all_tools_are_listed() {
    let manager = manager();
    assert_eq!(manager.tool_definitions(), []);
    manager.register(plugin("p", &["a", "b"])).await.unwrap();
    assert_eq!(
        manager.tool_definitions()[1],
        ClientTool { description: "A tool for a test".to_owned(), ..definition("b") }
    );
    assert_eq!(names(&manager), ["a", "b"]);
}

#[tokio::test]
async fn without_plugins_there_are_no_tools() {
    assert_eq!((manager().tool_definitions(), manager().plugin_names()), (vec![], vec![]));
    assert_eq!(offline().client_tool_definitions(), []);
}

#[tokio::test]
async fn plugins_are_named_in_the_order_of_registration() {
    let manager = manager();
    for name in ["z", "a", "m"] {
        manager.register(Plugin::new(name, "1.0.0")).await.unwrap();
    }
    assert_eq!(manager.plugin_names(), ["z", "a", "m"]);
}

#[tokio::test]
async fn a_client_registers_a_plugin() {
    let client = offline();
    client.use_plugin(Plugin::new("time", "1.0.0").tool(time())).await.unwrap();
    assert_eq!(client.client_tool_definitions()[0].name, "get_current_time");
}

#[tokio::test]
async fn registrations_chain() {
    let client = offline();
    let chained = client.use_plugin(plugin("a", &["x"])).await.unwrap();
    chained.use_plugin(plugin("b", &["y"])).await.unwrap().register_tool(counted("z").0).unwrap();
    assert_eq!(client.plugin_names(), ["a", "b"]);
    // Tools of the program itself come first: they were there before any plugin.
    let names: Vec<_> = client.client_tool_definitions().into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["z", "x", "y"]);
}

#[tokio::test]
async fn a_client_removes_a_plugin() {
    let client = offline();
    client.use_plugin(plugin("a", &["x"])).await.unwrap().unuse("a").await.unwrap();
    assert!(client.client_tool_definitions().is_empty());
    assert!(client.unuse("a").await.is_err());
}

#[tokio::test]
async fn a_client_knows_whether_a_plugin_is_registered() {
    let client = offline();
    assert!(!client.has_plugin("a"));
    client.use_plugin(plugin("a", &[])).await.unwrap();
    assert!(client.has_plugin("a") && !client.has_plugin("b"));
}

#[tokio::test]
async fn closing_a_client_removes_all_plugins_the_last_one_first() {
    struct Leaves(&'static str, Arc<Mutex<Vec<&'static str>>>);
    #[async_trait]
    impl Hooks for Leaves {
        async fn on_unregister(&self) {
            self.1.lock().unwrap().push(self.0);
        }
    }
    let (client, left) = (offline(), Arc::default());
    for name in ["a", "b"] {
        client.use_plugin(plugin(name, &[]).hooks(Leaves(name, Arc::clone(&left)))).await.unwrap();
    }
    client.use_plugin(plugin("c", &[]).hooks(Bad("panics at the end"))).await.unwrap();
    assert_eq!(client.close().await.len(), 1);
    assert_eq!((*left.lock().unwrap()).clone(), ["b", "a"]);
    assert!(client.plugin_names().is_empty());
}

#[tokio::test]
async fn tools_are_not_offered_before_their_plugin_is_ready() {
    struct Slow(Arc<tokio::sync::Notify>, Arc<AtomicBool>);
    #[async_trait]
    impl Hooks for Slow {
        async fn on_register(&self, _: &PluginTools) -> Result<(), HookError> {
            self.1.store(true, Ordering::SeqCst);
            self.0.notified().await;
            Ok(())
        }
    }
    let (client, ready, asked) = (offline(), Arc::new(tokio::sync::Notify::new()), Arc::default());
    let registering = client.use_plugin(plugin("p", &["a"]).hooks(Slow(ready.clone(), Arc::clone(&asked))));
    let looking = async {
        while !asked.load(Ordering::SeqCst) {
            tokio::task::yield_now().await;
        }
        assert!(client.client_tool_definitions().is_empty() && !client.has_plugin("p"));
        // Its names are taken meanwhile.
        assert!(client.register_tool(endless("a")).is_err());
        assert!(client.use_plugin(plugin("p", &[])).await.is_err());
        ready.notify_one();
    };
    let (registered, ()) = soon(async { tokio::join!(registering, looking) }).await;
    registered.unwrap();
    assert_eq!(client.client_tool_definitions().len(), 1);
}

#[tokio::test]
async fn a_plugin_changes_its_tools_later() {
    struct Keeps(Arc<Mutex<Option<PluginTools>>>);
    #[async_trait]
    impl Hooks for Keeps {
        async fn on_register(&self, tools: &PluginTools) -> Result<(), HookError> {
            *self.0.lock().unwrap() = Some(tools.clone());
            Ok(())
        }
    }
    let (client, kept) = (offline(), Arc::default());
    client.use_plugin(plugin("p", &["a"]).hooks(Keeps(Arc::clone(&kept)))).await.unwrap();
    let own = kept.lock().unwrap().clone().unwrap();
    own.replace(vec![tool("b", |_, _| async { Ok(Value::Null) })]).unwrap();
    assert_eq!(client.client_tool_definitions()[0].name, "b");
    client.unuse("p").await.unwrap();
    assert_eq!(own.replace(vec![]), Err(PluginError::Unknown { plugin: "p".to_owned() }));
}

#[tokio::test]
async fn tools_are_not_offered_while_their_plugin_is_removed() {
    struct Lingers(Arc<tokio::sync::Notify>, Arc<tokio::sync::Notify>);
    #[async_trait]
    impl Hooks for Lingers {
        async fn on_unregister(&self) {
            self.0.notify_one();
            self.1.notified().await;
        }
    }
    let (client, leaves, goes) = (offline(), Arc::default(), Arc::default());
    let plugin = plugin("p", &["a"]).hooks(Lingers(Arc::clone(&leaves), Arc::clone(&goes)));
    client.use_plugin(plugin).await.unwrap();
    let looking = async {
        leaves.notified().await;
        assert!(client.client_tool_definitions().is_empty() && !client.has_plugin("p"));
        // Its names are free when it is gone.
        assert!(client.register_tool(endless("a")).is_err());
        goes.notify_one();
    };
    let (gone, ()) = soon(async { tokio::join!(client.unuse("p"), looking) }).await;
    gone.unwrap().register_tool(endless("a")).unwrap();
}
