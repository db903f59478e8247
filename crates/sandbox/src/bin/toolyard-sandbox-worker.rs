//! A worker of the sandbox, for programs that embed it. The `toolyard` program is its own.

fn main() {
    toolyard_sandbox::process::serve_worker(&[])
}
