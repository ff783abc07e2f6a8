//! What a provider is set up with before it starts.

use super::Provider;

/// Keys, models and manners of a provider.
#[derive(Debug, Clone)]
pub struct Setup {
    pub(super) keys: Vec<String>,
    pub(super) models: Vec<String>,
    pub(super) base_path: String,
    pub(super) gzip: bool,
    pub(super) request_ids: bool,
    pub(super) ollama: Option<String>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            keys: Vec::new(),
            models: Vec::new(),
            base_path: String::new(),
            gzip: false,
            request_ids: true,
            ollama: None,
        }
    }
}

impl Setup {
    /// Only these keys are accepted. (Default: any that is not empty.)
    pub fn keys<K: Into<String>>(mut self, keys: impl IntoIterator<Item = K>) -> Self {
        self.keys = keys.into_iter().map(Into::into).collect();
        self
    }

    /// Only these models exist. (Default: any.)
    pub fn models<M: Into<String>>(mut self, models: impl IntoIterator<Item = M>) -> Self {
        self.models = models.into_iter().map(Into::into).collect();
        self
    }

    /// The API lives below this path, such as `/api/anthropic`; everything else is a web page.
    pub fn base_path(mut self, path: &str) -> Self {
        self.base_path = path.trim_end_matches('/').into();
        self
    }

    /// Compresses what it sends to clients that accept it.
    pub fn gzip(mut self) -> Self {
        self.gzip = true;
        self
    }

    /// Sends no `request-id` header, as many compatible providers do not.
    pub fn without_request_ids(mut self) -> Self {
        self.request_ids = false;
        self
    }

    /// Is an Ollama of this version that has pulled these models.
    pub fn ollama<M: Into<String>>(self, version: &str, models: impl IntoIterator<Item = M>) -> Self {
        let mut setup = self.models(models);
        setup.ollama = Some(version.into());
        setup
    }

    /// Starts it.
    #[track_caller]
    pub fn start(self) -> Provider {
        Provider::of(self)
    }
}
