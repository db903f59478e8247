//! Converts the `${…}` variables of client files to those of a Toolyard server.

use super::EnvLookup;

/// Variables of editors that look like environment variables.
const OF_EDITORS: [&str; 7] = [
    "cwd",
    "pathSeparator",
    "selectedText",
    "userHome",
    "workspaceFolder",
    "workspaceFolderBasename",
    "workspaceRoot",
];

/// Converts every `${env:NAME}` to `${NAME}`, which the server replaces from its own environment.
pub(super) fn to_server_variables(text: &str) -> Result<String, String> {
    let (mut whole, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        let (inside, after) = after.split_once('}').ok_or("`${` has no closing `}`")?;
        whole.push_str(before);
        whole.push_str("${");
        whole.push_str(variable_name(inside)?);
        whole.push('}');
        rest = after;
    }
    whole.push_str(rest);
    Ok(whole)
}

/// Replaces every `${NAME}` from the environment.
pub(super) fn fill_variables(text: &str, environment: &EnvLookup) -> Result<String, String> {
    let (mut whole, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        let (name, after) = after.split_once('}').ok_or("`${` has no closing `}`")?;
        whole.push_str(before);
        whole.push_str(&environment(name).ok_or_else(|| format!("the environment has no variable {name}"))?);
        rest = after;
    }
    whole.push_str(rest);
    Ok(whole)
}

/// The text, if it contains no variable: the server replaces variables only in headers and in the environment.
pub(super) fn reject_variables(text: String) -> Result<String, String> {
    match text.split_once("${") {
        None => Ok(text),
        Some((_, after)) => {
            let inside = after.split('}').next().unwrap_or_default();
            variable_name(inside)?;
            Err(format!(
                "`${{{inside}}}` is only supported in `headers` and `env`; write the value here instead"
            ))
        }
    }
}

/// The name of the environment variable in `${…}`.
fn variable_name(inside: &str) -> Result<&str, String> {
    if inside.starts_with("input:") {
        return Err(format!(
            "`${{{inside}}}` asks the user of the editor, which a server cannot do; put the value into the \
             server's environment and write `${{NAME}}`"
        ));
    }
    if inside.contains(":-") {
        return Err(format!(
            "`${{{inside}}}` has a default value, which is not supported; write `${{NAME}}` or the value"
        ));
    }
    let name = inside.strip_prefix("env:").unwrap_or(inside);
    let of_editor = name.len() == inside.len() && OF_EDITORS.contains(&name);
    if of_editor || !is_variable_name(name) {
        return Err(format!("`${{{inside}}}` is a variable of an editor; write the value"));
    }
    Ok(name)
}

pub(super) fn is_variable_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_environment_variables_become_one() {
        assert_eq!(to_server_variables("Bearer ${env:TOKEN}").unwrap(), "Bearer ${TOKEN}");
        assert_eq!(to_server_variables("${A}-${env:B_2}-$C").unwrap(), "${A}-${B_2}-$C");
        assert_eq!(to_server_variables("${env:cwd}").unwrap(), "${cwd}");
        assert_eq!(to_server_variables("no {} $x").unwrap(), "no {} $x");
    }

    #[test]
    fn variables_of_editors_are_refused() {
        for (text, words) in [
            ("${input:key}", "which a server cannot do"),
            ("${KEY:-none}", "default value"),
            ("${workspaceFolder}/x", "variable of an editor"),
            ("${userHome}", "variable of an editor"),
            ("${file:/etc/x}", "variable of an editor"),
            ("${/}", "variable of an editor"),
            ("${}", "variable of an editor"),
            ("${A", "closing"),
        ] {
            let refused = to_server_variables(text).unwrap_err();
            assert!(refused.contains(words), "{text}: {refused}");
        }
    }

    #[test]
    fn other_fields_take_no_variables() {
        assert_eq!(reject_variables("$HOME {x}".to_owned()).unwrap(), "$HOME {x}");
        assert!(reject_variables("${env:HOME}/x".to_owned()).unwrap_err().contains("write the value here"));
        assert!(reject_variables("${input:x}".to_owned()).unwrap_err().contains("which a server cannot do"));
    }
}
