//! The thread that owns the model. It starts with the first job. If the file cannot be loaded, all waiting jobs get the
//! error and the thread ends. The next job starts it again.

use std::sync::OnceLock;

use llama_cpp_2::{llama_backend::LlamaBackend, model::LlamaModel, model::params::LlamaModelParams};
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

use super::{
    LocalFile,
    engine::LocalEngine,
    model_error, stopped_error,
    write::{WriteEvent, WriteRequest},
};
use crate::model::{ModelError, ModelErrorKind};

/// Jobs that can be queued.
const JOBS: usize = 32;

/// A job for the thread. It is dropped when its caller no longer waits.
pub(super) enum EngineJob {
    Score { prompt: String, continuations: Vec<String>, reply: oneshot::Sender<Result<Vec<f64>, ModelError>> },
    Write { request: WriteRequest, sink: mpsc::Sender<Result<WriteEvent, ModelError>> },
}

impl EngineJob {
    fn refuse(self, error: ModelError) {
        match self {
            Self::Score { reply, .. } => drop(reply.send(Err(error))),
            Self::Write { sink, .. } => drop(sink.try_send(Err(error))),
        }
    }
}

/// The handle of the thread.
pub(super) struct ModelThread {
    file: LocalFile,
    jobs: Mutex<Option<mpsc::Sender<EngineJob>>>,
}

impl ModelThread {
    pub(super) fn new(file: LocalFile) -> Self {
        Self { file, jobs: Mutex::default() }
    }

    pub(super) async fn send(&self, job: EngineJob) -> Result<(), ModelError> {
        self.job_sender()?.send(job).await.map_err(|_| stopped_error())
    }

    fn job_sender(&self) -> Result<mpsc::Sender<EngineJob>, ModelError> {
        let mut sender = self.jobs.lock();
        if let Some(jobs) = sender.as_ref().filter(|jobs| !jobs.is_closed()) {
            return Ok(jobs.clone());
        }
        let (jobs, queue) = mpsc::channel(JOBS);
        let file = self.file.clone();
        let builder = std::thread::Builder::new().name("local-model".to_owned());
        builder.spawn(move || run_thread(&file, queue)).map_err(|error| {
            model_error(
                ModelErrorKind::Unavailable,
                format!("The thread for the model cannot be started: {error}."),
            )
        })?;
        *sender = Some(jobs.clone());
        Ok(jobs)
    }
}

/// Runs until no job can come any more.
fn run_thread(file: &LocalFile, mut queue: mpsc::Receiver<EngineJob>) {
    if let Err(error) = load_and_run(file, &mut queue) {
        tracing::warn!(file = %file.path.display(), error = %error.text, "local model failed to load");
        queue.close();
        while let Some(job) = queue.blocking_recv() {
            job.refuse(error.clone());
        }
    }
}

fn load_and_run(file: &LocalFile, queue: &mut mpsc::Receiver<EngineJob>) -> Result<(), ModelError> {
    let load_error = |error: &dyn std::fmt::Display| {
        let text = format!("The model {} cannot be loaded; is the file complete?", file.path.display());
        ModelError { cause: Some(error.to_string()), ..model_error(ModelErrorKind::Unavailable, text) }
    };
    let backend = llama_backend()?;
    let params = LlamaModelParams::default();
    let model =
        LlamaModel::load_from_file(backend, &file.path, &params).map_err(|error| load_error(&error))?;
    let mut engine = LocalEngine::new(backend, &model, file).map_err(|error| load_error(&error))?;
    while let Some(job) = queue.blocking_recv() {
        match job {
            EngineJob::Score { prompt, continuations, reply } => {
                let scores = engine.score_continuations(&prompt, &continuations, &|| reply.is_closed());
                drop(reply.send(scores));
            }
            EngineJob::Write { request, sink } => {
                if let Err(error) = engine.write_text(&request, &sink) {
                    drop(sink.blocking_send(Err(error)));
                }
            }
        }
    }
    Ok(())
}

/// The llama.cpp backend, started once per process.
fn llama_backend() -> Result<&'static LlamaBackend, ModelError> {
    static BACKEND: OnceLock<Result<LlamaBackend, String>> = OnceLock::new();
    let backend = BACKEND.get_or_init(|| {
        let mut backend = LlamaBackend::init().map_err(|error| error.to_string())?;
        // It would write to the process's standard error.
        backend.void_logs();
        Ok(backend)
    });
    backend.as_ref().map_err(|error| {
        model_error(ModelErrorKind::Unavailable, format!("llama.cpp does not start: {error}."))
    })
}
