//! Builds the web console into the program: a sorted table of path, content type, ETag, bytes and brotli bytes.
//! If `web/console/dist` is missing, the table is empty, and the server explains how to build it.

use std::{
    env,
    error::Error,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

fn main() -> Result<(), Box<dyn Error>> {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("CARGO_MANIFEST_DIR is not set")?);
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    println!("cargo:rerun-if-changed=build.rs");
    let console = here.join("../../web/console");
    let mut table = String::from("pub(super) static BUILT: &[ConsoleFile] = &[\n");
    if console.is_dir() {
        let dist = console.join("dist");
        // While a watched path is missing, cargo runs this script and compiles the server every time. So create the folder.
        // If that fails, the sources are read-only, and the console cannot be built there anyway.
        let _ = fs::create_dir_all(&dist);
        println!("cargo:rerun-if-changed={}", dist.display());
        let mut files = Vec::new();
        collect(&dist, "", &mut files)?;
        files.sort();
        for (path, file) in &files {
            table.push_str(&row(path, file)?);
        }
    }
    table.push_str("];\n");
    fs::write(out.join("console_files.rs"), table)?;
    Ok(())
}

/// Collects the files below a folder by their URL path. Skips compressed files, which belong to the file next to them, and
/// links.
fn collect(folder: &Path, prefix: &str, files: &mut Vec<(String, PathBuf)>) -> Result<(), Box<dyn Error>> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for entry in entries {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let (kind, path) = (entry.file_type()?, format!("{prefix}{name}"));
        if kind.is_dir() {
            collect(&entry.path(), &format!("{path}/"), files)?;
        } else if kind.is_file() && !name.ends_with(".br") && !name.ends_with(".gz") {
            files.push((path, entry.path()));
        }
    }
    Ok(())
}

fn row(path: &str, file: &Path) -> Result<String, Box<dyn Error>> {
    let file = file.canonicalize()?;
    let etag: String =
        Sha256::digest(fs::read(&file)?).iter().take(16).fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
    let mut compressed = file.clone().into_os_string();
    compressed.push(".br");
    let compressed = PathBuf::from(compressed);
    let brotli = if compressed.is_file() {
        format!("Some(include_bytes!({compressed:?}))")
    } else {
        "None".to_owned()
    };
    Ok(format!(
        "    ConsoleFile {{ path: {path:?}, kind: {:?}, etag: {etag:?}, bytes: include_bytes!({file:?}), brotli: {brotli} }},\n",
        kind_of(path)
    ))
}

fn kind_of(path: &str) -> &'static str {
    match path.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "map" => "application/json",
        "webmanifest" => "application/manifest+json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        "avif" => "image/avif",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "woff" => "font/woff",
        "wasm" => "application/wasm",
        "mp3" => "audio/mpeg",
        "wav" => "audio/wav",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
