//! Models from files, in this process. Without the cargo feature `local` a file in the configuration is an error.

use std::sync::Arc;

use toolyard_core::ports::IdGenerator;

use super::{FileModel, Model, ModelError, ModelName};
use crate::small::Scorer;

#[cfg(feature = "local")]
pub(super) use with::FileModels;
#[cfg(not(feature = "local"))]
pub(super) use without::FileModels;

/// A model from a file, as a model and as a scorer.
pub(super) struct LoadedModel {
    pub(super) model: Arc<dyn Model>,
    pub(super) scorer: Arc<dyn Scorer>,
}

#[cfg(feature = "local")]
mod with {
    use std::collections::HashMap;

    use super::*;
    use crate::{
        local::{LocalFile, LocalModel},
        model::ModelInfo,
    };

    /// The models by provider name.
    pub(in crate::model) struct FileModels(HashMap<String, LocalModel>);

    impl FileModels {
        pub(in crate::model) fn new(
            files: &[FileModel],
            ids: &Arc<dyn IdGenerator>,
        ) -> Result<Self, ModelError> {
            let models = files.iter().map(|file| {
                let FileModel { name, path, calling, threads, context } = file.clone();
                let info = ModelInfo { id: name.clone(), calling };
                let made = LocalModel::new(info, LocalFile { path, threads, context }, ids.clone());
                made.map(|model| (name, model))
            });
            models.collect::<Result<_, _>>().map(Self)
        }

        pub(in crate::model) fn get(&self, name: &ModelName) -> Option<LoadedModel> {
            let model = Arc::new(self.0.get(name.provider())?.with_id(name.to_string()));
            Some(LoadedModel { model: model.clone(), scorer: model })
        }
    }
}

#[cfg(not(feature = "local"))]
mod without {
    use super::*;
    use crate::model::ModelErrorKind;

    /// No models.
    pub(in crate::model) struct FileModels;

    impl FileModels {
        pub(in crate::model) fn new(
            files: &[FileModel],
            _ids: &Arc<dyn IdGenerator>,
        ) -> Result<Self, ModelError> {
            let Some(file) = files.first() else { return Ok(Self) };
            let text = format!(
                "models.{}.file: this build runs no models itself. Build it with `--features local`, or serve the file with \
                 llama-server and give its `url`.",
                file.name
            );
            Err(ModelError { kind: ModelErrorKind::Unknown, text, cause: None, retry_after: None })
        }

        #[expect(clippy::unused_self, reason = "as with the feature")]
        pub(in crate::model) fn get(&self, _name: &ModelName) -> Option<LoadedModel> {
            None
        }
    }
}
