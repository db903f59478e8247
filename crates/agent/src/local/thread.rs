//! The thread that owns the model. It begins with the first question; when the file cannot be loaded, it says so to all who
//! wait and ends, and the next question tries again.

use std::sync::OnceLock;

use llama_cpp_2::{llama_backend::LlamaBackend, model::LlamaModel, model::params::LlamaModelParams};
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

use super::{
    LocalFile,
    engine::Engine,
    gone, trouble,
    write::{Said, Wish},
};
use crate::model::{ModelError, ModelTrouble};

/// Questions that wait for the thread.
const JOBS: usize = 32;

/// What the thread is asked. Whoever goes away is not worked for any more.
pub(super) enum Job {
    Score { prompt: String, continuations: Vec<String>, reply: oneshot::Sender<Result<Vec<f64>, ModelError>> },
    Write { wish: Wish, sink: mpsc::Sender<Result<Said, ModelError>> },
}

impl Job {
    fn refuse(self, error: ModelError) {
        match self {
            Self::Score { reply, .. } => drop(reply.send(Err(error))),
            Self::Write { sink, .. } => drop(sink.try_send(Err(error))),
        }
    }
}

/// The way to the thread.
pub(super) struct Thread {
    file: LocalFile,
    jobs: Mutex<Option<mpsc::Sender<Job>>>,
}

impl Thread {
    pub(super) fn new(file: LocalFile) -> Self {
        Self { file, jobs: Mutex::default() }
    }

    pub(super) async fn send(&self, job: Job) -> Result<(), ModelError> {
        self.jobs()?.send(job).await.map_err(|_| gone())
    }

    fn jobs(&self) -> Result<mpsc::Sender<Job>, ModelError> {
        let mut kept = self.jobs.lock();
        if let Some(jobs) = kept.as_ref().filter(|jobs| !jobs.is_closed()) {
            return Ok(jobs.clone());
        }
        let (jobs, queue) = mpsc::channel(JOBS);
        let file = self.file.clone();
        let named = std::thread::Builder::new().name("local-model".to_owned());
        named.spawn(move || work(&file, queue)).map_err(|error| {
            trouble(ModelTrouble::Unavailable, format!("No thread for the model: {error}."))
        })?;
        *kept = Some(jobs.clone());
        Ok(jobs)
    }
}

/// Until nobody can ask any more.
fn work(file: &LocalFile, mut queue: mpsc::Receiver<Job>) {
    if let Err(error) = load_and_work(file, &mut queue) {
        tracing::warn!(file = %file.path.display(), error = %error.text, "a model cannot be loaded");
        queue.close();
        while let Some(job) = queue.blocking_recv() {
            job.refuse(error.clone());
        }
    }
}

fn load_and_work(file: &LocalFile, queue: &mut mpsc::Receiver<Job>) -> Result<(), ModelError> {
    let unfit = |error: &dyn std::fmt::Display| {
        let text = format!("The model {} cannot be loaded; is the file whole?", file.path.display());
        ModelError { cause: Some(error.to_string()), ..trouble(ModelTrouble::Unavailable, text) }
    };
    let backend = backend()?;
    let params = LlamaModelParams::default();
    let model = LlamaModel::load_from_file(backend, &file.path, &params).map_err(|error| unfit(&error))?;
    let mut engine = Engine::new(backend, &model, file).map_err(|error| unfit(&error))?;
    while let Some(job) = queue.blocking_recv() {
        match job {
            Job::Score { prompt, continuations, reply } => {
                let scores = engine.score(&prompt, &continuations, &|| reply.is_closed());
                drop(reply.send(scores));
            }
            Job::Write { wish, sink } => {
                if let Err(error) = engine.write(&wish, &sink) {
                    drop(sink.blocking_send(Err(error)));
                }
            }
        }
    }
    Ok(())
}

/// llama.cpp, started once for the whole process.
fn backend() -> Result<&'static LlamaBackend, ModelError> {
    static BACKEND: OnceLock<Result<LlamaBackend, String>> = OnceLock::new();
    let backend = BACKEND.get_or_init(|| {
        let mut backend = LlamaBackend::init().map_err(|error| error.to_string())?;
        // It writes to the process's error stream, which is ours.
        backend.void_logs();
        Ok(backend)
    });
    backend
        .as_ref()
        .map_err(|error| trouble(ModelTrouble::Unavailable, format!("llama.cpp does not start: {error}.")))
}
