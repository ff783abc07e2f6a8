//! What a client is told beside an answer: who gave it, as which model, and who was asked before.

/// What it is told.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// The upstream that answered, where it is not Anthropic.
    pub upstream: Option<String>,
    /// The model that was asked there, where it is another than the client named.
    pub model: Option<String>,
    /// The places that failed before, and how.
    pub trail: Vec<String>,
}

impl Told {
    /// As fields of an answer. Names of models come from a client or a file: what cannot stand in a field is left out.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, String)> {
        let trail = (!self.trail.is_empty()).then(|| self.trail.join(", "));
        let fields = [
            ("x-mo-upstream", self.upstream.clone()),
            ("x-mo-model", self.model.clone()),
            ("x-mo-fallback", trail),
        ];
        fields.into_iter().filter_map(|(name, value)| {
            let value: String = value?.chars().filter(|letter| matches!(letter, ' '..='~')).collect();
            Some((name, value))
        })
    }
}
