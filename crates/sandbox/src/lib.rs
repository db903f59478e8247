//! Runs untrusted JavaScript under limits. It knows nothing of tools, manifests or users.
//!
//! | look for | in |
//! | --- | --- |
//! | the way in for one user: the thread of a run, abandoned threads | `sandbox`, `seats` |
//! | the way in for many users: child processes that can be killed | [`process`] |
//! | every bound | `limits` |
//! | what is to be run, permissions, the outside world | `job` |
//! | which hosts may be called | `hosts` |
//! | why there is no result | `error` |
//! | the engine, its loop, time, chance | `engine` |
//! | what runs inside before the code: guards, dates, globals | `js/*.js`, `engine::script` |
//! | `fetch` and `storage` | `calls`, `storage` |
//! | dates in other zones | `dates` |
//! | the size and form of the result | `output` |
//! | code that tries to get out | `tests/hostile` |
//!
//! # What code finds
//!
//! The code is the body of an async function over `args`, not strict unless it says so. Each run has an engine of its own
//! (QuickJS): nothing stays from one run to the next. It finds the language without `eval`, `Function`, `import`,
//! `WeakRef`, `SharedArrayBuffer` and `Atomics`, and:
//!
//! | name | what it does |
//! | --- | --- |
//! | `console.log/info/debug/warn/error` | lines for whoever looks for a fault |
//! | `fetch(url, {method, headers, body})` | calls a declared host; the answer has `ok`, `status`, `url`, `redirected`, `headers.get()`, `text()`, `json()` |
//! | `storage.get/set/delete/keys` | keeps JSON values; `get` gives `null` where nothing is |
//! | `setTimeout`, `clearTimeout`, `queueMicrotask` | within the time of the run |
//! | `crypto.randomUUID()`, `Math.random()` | chance from the host |
//! | `new Date()`, `Date.now()` | the present, with the permission `clock`; without it they throw. `new Date(value)` always works |
//! | `toLocaleString`, `toLocaleDateString`, `toLocaleTimeString`, `Intl.DateTimeFormat` | in any time zone, in the form of `en-US` |
//!
//! Local time is UTC on every machine. `eval` and `Function` would run inside the sandbox like the rest; they are gone
//! because what was read and signed has to be what runs, and because the compiler cannot be interrupted.
//!
//! # Limits, by default
//!
//! | what | bound | when it is hit |
//! | --- | --- | --- |
//! | wall time, waiting for a thread included | 30 s | `TimedOut`, or `Busy` if it never ran |
//! | time on a processor | 5 s | `TooMuchWork` |
//! | memory of the engine | 32 MiB | the code sees an error; else `OutOfMemory` |
//! | stack of the engine | 512 KiB | the code sees an error; else `StackOverflow` |
//! | code, arguments, result | 128, 256, 256 KiB | `SourceTooLarge`, `InputTooLarge`, `OutputTooLarge` |
//! | depth of the result | 100 | `OutputTooDeep` |
//! | calls of `fetch` and `storage` | 64, 4 at once | `TooManyHostCalls`; further ones wait |
//! | body of a request, of an answer | 256 KiB, 1 MiB | the code sees an error |
//! | headers of a request, length of one | 32, 4,096 | the code sees an error |
//! | redirects | 5 | the code sees an error |
//! | key, value in the storage | 200, 64 KiB | the code sees an error |
//! | timers at a time | 64 | the code sees an error |
//! | lines of `console`, length of one | 100, 2,000 | dropped, and the last line says so; cut |
//! | text of an error | 2,000 | cut |
//! | runs, waiting runs | 8, 64 | waits; `Busy` |
//! | abandoned threads | 4 | see below |
//!
//! # What cannot be interrupted
//!
//! The engine looks at the clock once in 10,000 turns of a loop or calls of a function, and within regular expressions.
//! One turn may take long inside the engine. The built-in functions that we know to run for days or for ever by one call
//! are guarded (`js/guards.js`). Not guarded are operators, typed arrays, proxies and the compiler. The slowest single
//! steps that we measured, in a debug build: 2.5 s to write an integer of a million bits as text, 7 s to list the 200,000
//! keys of a proxy; more where the memory allows more. In a loop, code made for it can go on for many hours.
//!
//! There are two ways to run code, for two situations:
//!
//! - [`process::WorkerPool`] runs it in child processes. A run that does not end in time is killed, and its slot is free when
//!   its process is gone. The engine is written in C: a fault in it ends one child, which has no files, no network and no
//!   environment. This is for programs that serve many users.
//! - [`Sandbox`] runs it on threads of this process. A run may be over and not notice. Then `run` answers
//!   `TimedOut { stuck: true }` after `grace`, and the thread, which takes a processor, is left alone until it ends. At most
//!   `abandoned` threads are left alone besides the `runs`; beyond that they keep the place of a run, and when all places
//!   are taken `run` answers `Busy`. A fault in the engine is a fault of the process. This is for programs of one user, who
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
