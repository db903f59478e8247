//! Runs untrusted JavaScript under limits. It knows nothing of tools, manifests or users.
//!
//! | look for | in |
//! | --- | --- |
//! | entry point for one user: the thread of a run, abandoned threads | `sandbox`, `seats` |
//! | entry point for many users: child processes that can be killed | [`process`] |
//! | all limits | `limits` |
//! | what to run, permissions, access to the outside world | `job` |
//! | which hosts may be called | `hosts` |
//! | why there is no result | `error` |
//! | the engine, its loop, time, randomness | `engine` |
//! | what runs inside before the code: guards, dates, globals | `js/*.js`, `engine::script` |
//! | `fetch` and `storage` | `calls`, `storage` |
//! | dates in other zones | `dates` |
//! | checks of the result | `output` |
//! | code that tries to escape | `tests/hostile` |
//!
//! # What code can use
//!
//! The code is the body of an async function over `args`, not strict unless it says so. Each run has its own engine
//! (QuickJS): nothing is kept from one run to the next. The code can use the language without `eval`, `Function`,
//! `import`, `WeakRef`, `SharedArrayBuffer` and `Atomics`, and:
//!
//! | name | what it does |
//! | --- | --- |
//! | `console.log/info/debug/warn/error` | lines for debugging |
//! | `fetch(url, {method, headers, body})` | calls a declared host; the response has `ok`, `status`, `url`, `redirected`, `headers.get()`, `text()`, `json()` |
//! | `storage.get/set/delete/keys` | stores JSON values; `get` returns `null` for a missing key |
//! | `setTimeout`, `clearTimeout`, `queueMicrotask` | within the time of the run |
//! | `crypto.randomUUID()`, `Math.random()` | random values from the host |
//! | `new Date()`, `Date.now()` | the current time, with the permission `clock`; without it they throw. `new Date(value)` always works |
//! | `toLocaleString`, `toLocaleDateString`, `toLocaleTimeString`, `Intl.DateTimeFormat` | in any time zone, formatted as in `en-US` |
//!
//! Local time is UTC on every machine. `eval` and `Function` would run inside the sandbox like the rest. They are
//! removed because what was read and signed must be what runs, and because the compiler cannot be interrupted.
//!
//! # Default limits
//!
//! | what | limit | when it is exceeded |
//! | --- | --- | --- |
//! | wall time, waiting for a thread included | 30 s | `TimedOut`, or `Busy` if it never ran |
//! | processor time | 5 s | `TooMuchWork` |
//! | memory of the engine | 32 MiB | the code gets an error, or `OutOfMemory` |
//! | stack of the engine | 512 KiB | the code gets an error, or `StackOverflow` |
//! | code, arguments, result | 128, 256, 256 KiB | `SourceTooLarge`, `InputTooLarge`, `OutputTooLarge` |
//! | depth of the result | 100 | `OutputTooDeep` |
//! | calls to `fetch` and `storage` | 64, 4 at once | `TooManyHostCalls`; further ones wait |
//! | body of a request, of a response | 256 KiB, 1 MiB | the code gets an error |
//! | headers of a request, length of one | 32, 4,096 | the code gets an error |
//! | redirects | 5 | the code gets an error |
//! | key, value in the storage | 200, 64 KiB | the code gets an error |
//! | timers at a time | 64 | the code gets an error |
//! | lines of `console`, length of one | 100, 2,000 | dropped, and the last line says so; truncated |
//! | text of an error | 2,000 | truncated |
//! | runs, waiting runs | 8, 64 | waits; `Busy` |
//! | abandoned threads | 4 | see below |
//!
//! # What cannot be interrupted
//!
//! The engine checks the clock once in 10,000 loop iterations or function calls, and within regular expressions. A
//! single iteration may take long inside the engine. The built-in functions that are known to run for days or forever
//! in one call are guarded (`js/guards.js`). Operators, typed arrays, proxies and the compiler are not. The slowest
//! single steps that we measured, in a debug build: 2.5 s to write an integer of a million bits as text, 7 s to list
//! the 200,000 keys of a proxy; more with a higher memory limit. In a loop, hostile code can run for many hours.
//!
//! There are two ways to run code:
//!
//! - [`process::WorkerPool`] runs it in child processes. A run that does not end in time is killed, and its slot is free when
//!   its process is gone. The engine is written in C: a fault in it ends one child, which has no files, no network and no
//!   environment. This is for programs that serve many users.
//! - [`Sandbox`] runs it on threads of this process. A run may not stop when its time is over. Then `run` returns
//!   `TimedOut { stuck: true }` after `grace`, and the thread, which occupies a processor, is abandoned until it ends. At most
//!   `abandoned` threads are abandoned in addition to the `runs`; beyond that they keep the seat of a run, and when all seats
//!   are taken `run` returns `Busy`. A fault in the engine is a fault of the process. This is for programs of one user, who
//!   chose the code.

mod calls;
mod dates;
mod engine;
mod error;
mod hosts;
mod job;
mod limits;
mod link;
mod outcome;
mod output;
pub mod process;
mod sandbox;
mod seats;
mod storage;

pub use error::{SandboxError, SourcePosition};
pub use hosts::{UrlHostPattern, UrlHostPatternError};
pub use job::{ClockFn, RandomFn, RunPermissions, SandboxHost, SandboxJob};
pub use limits::SandboxLimits;
pub use outcome::{LogLevel, LogLine, RunOutcome, RunUsage};
pub use sandbox::Sandbox;
pub use storage::{MemoryStorage, PluginStorage, StorageError, StorageQuota};
