//! A resource: content under a URI, or under every URI that matches a template.

use std::{fmt, fmt::Display, future::Future, sync::Arc};

use futures_util::future::BoxFuture;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, value::RawValue};
use toolyard_protocol::{Problem, items::ItemKind, raw::to_raw};

use super::{InvalidItem, ItemFuture, ResourceReply, check_definition, template::UriTemplate};
use crate::tool::{CallFailure, ToolContext};

type ResourceHandler = Arc<dyn Fn(Map<String, Value>, ToolContext) -> ResourceFuture + Send + Sync>;
type ResourceFuture = BoxFuture<'static, Result<ResourceReply, CallFailure>>;

/// A resource or resource template that is ready to be added to an app. Cheap to clone.
#[derive(Clone)]
pub struct Resource {
    uri: Arc<str>,
    kind: ItemKind,
    template: Arc<UriTemplate>,
    mime_type: Option<Arc<str>>,
    definition: Arc<RawValue>,
    read: ResourceHandler,
}

impl Resource {
    /// The URI, or the URI template.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// The definition, as the platform sees it.
    pub fn definition(&self) -> &RawValue {
        &self.definition
    }

    pub(crate) fn is_template(&self) -> bool {
        self.kind == ItemKind::Template
    }

    /// The values of the template variables. `None` if the URI does not match.
    pub(crate) fn match_uri(&self, uri: &str) -> Option<Map<String, Value>> {
        self.template.extract_values(uri)
    }

    pub(crate) fn read_contents(
        &self,
        uri: String,
        values: Map<String, Value>,
        cx: ToolContext,
    ) -> ItemFuture {
        let (reading, mime_type) = ((self.read)(values, cx), self.mime_type.clone());
        Box::pin(async move { reading.await?.into_contents(uri, mime_type.as_deref()) })
    }
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resource").field("uri", &self.uri()).finish_non_exhaustive()
    }
}

/// Creates a resource under one URI. The app chooses the scheme.
///
/// ```
/// use toolyard_app_sdk::{ToolContext, create_resource};
///
/// let list = create_resource("todo://list", "To-do list", |cx: ToolContext| async move {
///     Ok::<_, std::convert::Infallible>(format!("Nothing to do for {}", cx.user()))
/// })
/// .mime_type("text/plain")
/// .build()?;
/// # Ok::<(), toolyard_app_sdk::InvalidItem>(())
/// ```
pub fn create_resource<F, Fut, R, E>(
    uri: impl Into<String>,
    name: impl Into<String>,
    handler: F,
) -> ResourceBuilder
where
    F: Fn(ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, E>> + Send + 'static,
    R: Into<ResourceReply>,
    E: Display,
{
    let read: ResourceHandler = Arc::new(move |_, cx| {
        let reading = handler(cx);
        Box::pin(async move { to_resource_reply(reading.await) })
    });
    let uri = uri.into();
    let template = UriTemplate::exact(&uri);
    ResourceBuilder::new(ItemKind::Resource, uri, name.into(), Ok(template), read)
}

/// Creates resources under every URI that matches a template: `{name}` matches one or more characters without a slash, `{+name}`
/// any characters. The handler gets the values as a type with text fields. If the values do not match the type, or the handler
/// returns `None`, the resource is not found. The values are untrusted: validate them before you open a file.
///
/// ```
/// use serde::Deserialize;
/// use toolyard_app_sdk::{ToolContext, create_resource_template};
///
/// #[derive(Deserialize)]
/// struct One {
///     id: String,
/// }
///
/// let todo = create_resource_template("todo://item/{id}", "One todo", |one: One, _cx: ToolContext| async move {
///     Ok::<_, std::convert::Infallible>((one.id == "1").then_some("buy milk"))
/// })
/// .build()?;
/// # Ok::<(), toolyard_app_sdk::InvalidItem>(())
/// ```
pub fn create_resource_template<A, F, Fut, R, E>(
    uri_template: impl Into<String>,
    name: impl Into<String>,
    handler: F,
) -> ResourceBuilder
where
    A: DeserializeOwned + Send + 'static,
    F: Fn(A, ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, E>> + Send + 'static,
    R: Into<ResourceReply>,
    E: Display,
{
    let read: ResourceHandler =
        Arc::new(move |values, cx| match serde_json::from_value(Value::Object(values)) {
            Ok(values) => {
                let reading = handler(values, cx);
                Box::pin(async move { to_resource_reply(reading.await) })
            }
            Err(_) => Box::pin(std::future::ready(Ok(ResourceReply::not_found()))),
        });
    let uri = uri_template.into();
    let template = UriTemplate::parse(&uri);
    ResourceBuilder::new(ItemKind::Template, uri, name.into(), template, read)
}

fn to_resource_reply<R: Into<ResourceReply>, E: Display>(
    result: Result<R, E>,
) -> Result<ResourceReply, CallFailure> {
    result.map(Into::into).map_err(CallFailure::from_handler)
}

/// Builds a [`Resource`].
#[must_use = "call `build` and add the resource to the app"]
pub struct ResourceBuilder {
    kind: ItemKind,
    uri: String,
    written: ResourceDefinition,
    template: Result<UriTemplate, String>,
    read: ResourceHandler,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceDefinition {
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri_template: Option<String>,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<String>,
}

impl ResourceBuilder {
    fn new(
        kind: ItemKind,
        uri: String,
        name: String,
        template: Result<UriTemplate, String>,
        read: ResourceHandler,
    ) -> Self {
        let is = |wanted: ItemKind| (kind == wanted).then(|| uri.clone());
        let written = ResourceDefinition {
            uri: is(ItemKind::Resource),
            uri_template: is(ItemKind::Template),
            name,
            title: None,
            description: None,
            mime_type: None,
        };
        Self { kind, uri, written, template, read }
    }

    /// Sets the display name.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.written.title = Some(title.into());
        self
    }

    /// Describes the content.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.written.description = Some(description.into());
        self
    }

    /// Sets the default MIME type. A reply can override it.
    pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.written.mime_type = Some(mime_type.into());
        self
    }

    /// Checks and builds the resource: the URI has a scheme, a template is unambiguous, and all limits are met.
    pub fn build(self) -> Result<Resource, InvalidItem> {
        let (template, problems) = match self.template {
            Ok(template) => (template, Vec::new()),
            Err(why) => (UriTemplate::exact(&self.uri), vec![Problem::new("resource.uriTemplate", why)]),
        };
        let definition = check_definition(self.kind, &self.uri, to_raw(&self.written), problems)?;
        Ok(Resource {
            uri: self.uri.into(),
            kind: self.kind,
            template: Arc::new(template),
            mime_type: self.written.mime_type.map(Into::into),
            definition: definition.into(),
            read: self.read,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(uri: &str) -> ResourceBuilder {
        create_resource(uri, "List", |_: ToolContext| async { Ok::<_, &str>("x") })
    }

    #[test]
    fn the_definition_contains_all_settings() {
        let built =
            resource("todo://list").title("T").description("D").mime_type("text/plain").build().unwrap();
        assert_eq!(
            built.definition().get(),
            r#"{"uri":"todo://list","name":"List","title":"T","description":"D","mimeType":"text/plain"}"#
        );
        let handler = |_: Map<String, Value>, _: ToolContext| async { Ok::<_, &str>("x") };
        let template = create_resource_template("todo://{id}", "One", handler).build().unwrap();
        assert_eq!(template.definition().get(), r#"{"uriTemplate":"todo://{id}","name":"One"}"#);
        assert!(template.is_template() && !built.is_template());
        assert_eq!(built.match_uri("todo://list"), Some(Map::new()));
        assert_eq!(built.match_uri("todo://lists"), None);
    }

    #[test]
    fn invalid_uris_are_refused() {
        let error = resource("list").build().unwrap_err();
        assert!(
            error.to_string().starts_with("the resource `list` cannot be built: resource.uri: "),
            "{error}"
        );
        let handler = |_: Map<String, Value>, _: ToolContext| async { Ok::<_, &str>("x") };
        let error = create_resource_template("todo://{?q}", "Found", handler).build().unwrap_err();
        assert_eq!(error.problems[0].path, "resource.uriTemplate");
    }
}
