//! Resource URIs of many servers in one list.
//!
//! `test://static-text` of `mcp.files` becomes `test://mcp.files/static-text`: the scheme stays, because clients depend on
//! it (`ui://`), and the package takes the place of a host. The mapping is reversible, also for templates.

use crate::name::PackageName;

/// The URI, or URI template, under which a package's resource is listed. `None` if it has no scheme.
pub fn map_uri(package: &PackageName, uri: &str) -> Option<String> {
    let (front, rest) = split_scheme(uri)?;
    Some(format!("{front}{package}/{rest}"))
}

/// Whether a URI starts with a scheme, so that it can be mapped.
pub fn has_scheme(uri: &str) -> bool {
    split_scheme(uri).is_some()
}

/// The package, and its own URI of the resource.
pub fn unmap_uri(uri: &str) -> Option<(PackageName, String)> {
    let (front, rest) = split_scheme(uri)?;
    let (package, rest) = rest.split_once('/')?;
    Some((package.parse().ok()?, format!("{front}{rest}")))
}

/// `scheme://` or `scheme:`, and the rest.
fn split_scheme(uri: &str) -> Option<(&str, &str)> {
    let colon = uri.find(':')?;
    let scheme = &uri[..colon];
    let fits = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+.-".contains(&b));
    let end = if uri[colon..].starts_with("://") { colon + 3 } else { colon + 1 };
    fits.then(|| uri.split_at(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mapping_can_be_undone() {
        let package: PackageName = "mcp.files".parse().unwrap();
        for (uri, listed) in [
            ("test://static-text", "test://mcp.files/static-text"),
            ("test://template/{id}/data", "test://mcp.files/template/{id}/data"),
            ("file:///a/b", "file://mcp.files//a/b"),
            ("ui://widget/main.html", "ui://mcp.files/widget/main.html"),
            ("urn:isbn:1", "urn:mcp.files/isbn:1"),
            ("x:", "x:mcp.files/"),
        ] {
            assert_eq!(map_uri(&package, uri).as_deref(), Some(listed));
            assert_eq!(unmap_uri(listed), Some((package.clone(), uri.to_owned())));
        }
        for none in ["", "no-scheme", "{scheme}://x", "1x://y"] {
            assert_eq!(map_uri(&package, none), None);
        }
        assert_eq!(unmap_uri("test://NOT A PACKAGE/x"), None);
    }
}
