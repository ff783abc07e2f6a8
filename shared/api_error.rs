//! What a provider's refusal means to the user: told from the status and type that Claude Code reports,
//! never from the wording of a message.

use crate::exit::Exit;
use crate::flatten::flatten;

/// What kind of trouble it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Trouble {
    /// The key is wrong, half, or not enabled.
    Key,
    /// The provider does not know the model.
    Model,
    /// Nothing that speaks the Messages API stands at the URL.
    Url,
    /// One of the two: a 404, and the client does not say more.
    NotFound,
    /// Too many requests, or the plan's quota is used up.
    Quota,
    /// The provider has no capacity right now.
    Overloaded,
    /// The provider failed.
    Provider,
    /// The provider did not like the request.
    Request,
    /// Nobody answered.
    Unreachable,
}

impl Trouble {
    /// Tells it from the HTTP status and the `type` in the error's body; an answer that is no JSON has no type.
    pub fn of(status: Option<u16>, error_type: Option<&str>) -> Self {
        match status {
            Some(401 | 403) => Self::Key,
            Some(404) if error_type == Some("not_found_error") => Self::Model,
            // A page, a body of another shape, or a client that keeps the body to itself.
            Some(404) => Self::NotFound,
            Some(405) => Self::Url,
            Some(408 | 504) | None => Self::Unreachable,
            Some(402 | 429) => Self::Quota,
            Some(503 | 529) => Self::Overloaded,
            Some(500..) => Self::Provider,
            Some(_) => Self::Request,
        }
    }

    const ALL: [Self; 9] = [
        Self::Key,
        Self::Model,
        Self::Url,
        Self::NotFound,
        Self::Quota,
        Self::Overloaded,
        Self::Provider,
        Self::Request,
        Self::Unreachable,
    ];

    /// The trouble of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|trouble| trouble.name() == name)
    }

    /// Its name in our files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Model => "model",
            Self::Url => "url",
            Self::NotFound => "not-found",
            Self::Quota => "quota",
            Self::Overloaded => "overloaded",
            Self::Provider => "provider",
            Self::Request => "request",
            Self::Unreachable => "unreachable",
        }
    }

    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Self::Key => "the provider refuses the key",
            Self::Model => "the provider does not know the model",
            Self::Url => "nothing that speaks the Messages API stands at the base URL",
            Self::NotFound => "the provider does not know the model, or the base URL is wrong",
            Self::Quota => "the provider's quota is used up",
            Self::Overloaded => "the provider is overloaded",
            Self::Provider => "the provider failed",
            Self::Request => "the provider does not accept the request",
            Self::Unreachable => "the provider does not answer",
        }
    }

    /// What to do about it.
    pub fn what_next(self, worker: &str, model: Option<&str>) -> String {
        let named = model.map(|model| format!(" `{}`", flatten(model, 80))).unwrap_or_default();
        match self {
            Self::Key => format!(
                "store the whole key with `mo-key {worker}`: some have two halves (`id.secret`), some must be enabled for a plan first"
            ),
            Self::Model => format!(
                "it was asked for the model{named}, which the provider may have renamed: `mo-worker show {worker}` shows the model of each tier"
            ),
            Self::Url => format!(
                "`mo-worker show {worker}` shows the URL; `mo-preset probe URL` tells what stands there"
            ),
            Self::NotFound => format!(
                "it was asked for the model{named}; `mo-worker show {worker}` shows the models and the URL, `mo-preset probe URL` tells whether it is the URL"
            ),
            Self::Quota => "wait until the quota is renewed, or give the task to another worker".to_owned(),
            Self::Overloaded => "try again in a minute, or give the task to another worker".to_owned(),
            Self::Provider => "try again; if it stays, see the provider's status page".to_owned(),
            Self::Request => format!(
                "the likely cause is the model{named}: providers answer so to a name they do not know; `mo-worker show {worker}` shows the model of each tier"
            ),
            Self::Unreachable => {
                "check the network and the base URL; `mo-preset probe URL` tells which it is".to_owned()
            }
        }
    }

    /// Whether it lies with this provider or key, so that another worker may well do what this one could not.
    pub fn is_the_providers(self) -> bool {
        !matches!(self, Self::Model | Self::NotFound | Self::Request)
    }

    /// The exit code of a program of ours that ends with this trouble.
    pub fn exit(self) -> Exit {
        match self {
            Self::Key => Exit::Key,
            Self::Model | Self::Url | Self::NotFound => Exit::Config,
            Self::Request => Exit::CouldNot,
            Self::Quota | Self::Overloaded | Self::Provider | Self::Unreachable => Exit::Unavailable,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_model_is_told_from_a_wrong_url_where_the_body_tells() {
        assert_eq!(Trouble::of(Some(404), Some("not_found_error")), Trouble::Model);
        assert_eq!(Trouble::of(Some(404), None), Trouble::NotFound);
        assert_eq!(Trouble::of(Some(405), None), Trouble::Url);
        assert_eq!(Trouble::of(None, None), Trouble::Unreachable);
        assert_eq!(Trouble::of(Some(529), Some("overloaded_error")), Trouble::Overloaded);
        assert_eq!(Trouble::of(Some(418), None), Trouble::Request);
        for trouble in [Trouble::Model, Trouble::NotFound, Trouble::Request] {
            let next = trouble.what_next("glm", Some("the-model"));
            assert!(next.contains("the model `the-model`") && !next.contains("check glm"), "{next}");
        }
    }
}
