//! The sandbox worker for programs that embed the sandbox. The `toolyard` program is its own worker.

fn main() {
    toolyard_sandbox::process::serve_worker(&[])
}
