//! An API error as Claude Code tells it: in fields where it has them, in its words where it does not.
//! What it means to the user is `api_error`'s.

use serde_json::Value;

use crate::api_error::Trouble;

/// Stands before a status wherever the client tells one in words (seen from 2.0.76 to 2.1.332).
const MARK: &str = "API Error: ";
/// The switch that the client points to after a 404, in print mode and outside. Of 2.1.91, which gives neither
/// status nor body of a 404, nothing else tells it from other refused requests.
const MODEL_SWITCHES: [&str; 2] = ["--model", "/model"];

/// An API error. Clients of 2.1.332 fill every field, 2.1.197 no type, 2.1.91 and 2.0.76 only class and text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ApiFailure {
    /// The HTTP status; nothing when nobody answered.
    pub status: Option<u16>,
    /// The type in the error's body; nothing when the answer was no JSON.
    pub error_type: Option<String>,
    /// The client's own class of it, like `authentication_failed`.
    pub class: Option<String>,
    /// The client's words.
    pub text: String,
}

impl ApiFailure {
    /// Takes from the words what the fields lack: older clients print the status and the provider's own body.
    #[must_use]
    pub fn completed(mut self) -> Self {
        if self.status.is_none()
            && let Some((status, body)) = quoted(&self.text)
        {
            self.status = Some(status);
            self.error_type = self.error_type.or_else(|| type_in(body));
        }
        self
    }

    /// What trouble it is.
    pub fn trouble(&self) -> Trouble {
        if self.status.is_some() {
            return Trouble::of(self.status, self.error_type.as_deref());
        }
        match self.class.as_deref() {
            Some("authentication_failed") => Trouble::Key,
            Some("rate_limit" | "billing_error") => Trouble::Quota,
            Some("model_not_found") => Trouble::NotFound,
            Some("malformed") => Trouble::Url,
            Some("invalid_request") if self.points_to_the_model() => Trouble::NotFound,
            Some("invalid_request") => Trouble::Request,
            _ => Trouble::Unreachable,
        }
    }

    fn points_to_the_model(&self) -> bool {
        !self.text.starts_with(MARK) && MODEL_SWITCHES.iter().any(|switch| self.text.contains(switch))
    }
}

/// The status and what follows it.
fn quoted(text: &str) -> Option<(u16, &str)> {
    let (_, rest) = text.split_once(MARK)?;
    let (digits, body) = rest.split_at_checked(3)?;
    let status = digits.parse().ok().filter(|status| (400..600).contains(status))?;
    (body.is_empty() || body.starts_with(' ')).then_some((status, body))
}

/// The type in an error's body; the client may have put a word of advice behind it.
fn type_in(body: &str) -> Option<String> {
    let body = body.get(body.find('{')?..=body.rfind('}')?)?;
    let body: Value = serde_json::from_str(body).ok()?;
    body.get("error")?.get("type")?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trouble(class: &str, text: &str) -> Trouble {
        let failure = ApiFailure { class: Some(class.into()), text: text.into(), ..ApiFailure::default() };
        failure.completed().trouble()
    }

    #[test]
    fn what_the_fields_lack_is_read_from_the_quoted_body() {
        let missing =
            r#"API Error: 404 {"type":"error","error":{"type":"not_found_error","message":"model: x"}}"#;
        assert_eq!(trouble("unknown", missing), Trouble::Model);
        assert_eq!(trouble("unknown", "API Error: 404 <html>nope</html>"), Trouble::NotFound);
        assert_eq!(trouble("unknown", "API Error: 404 status code (no body)"), Trouble::NotFound);
        assert_eq!(trouble("unknown", r#"API Error: 529 {"error":{}}"#), Trouble::Overloaded);
        assert_eq!(trouble("unknown", r#"API Error: 429 {"error":{"type":"1113"}}"#), Trouble::Quota);
        let advice = r#"API Error: 403 {"error":{"type":"permission_error"}} · Please run /login"#;
        assert_eq!(trouble("authentication_failed", advice), Trouble::Key);
    }

    #[test]
    fn without_a_status_the_clients_own_class_tells_it() {
        assert_eq!(trouble("authentication_failed", "Not logged in · Please run /login"), Trouble::Key);
        assert_eq!(trouble("billing_error", "Credit balance is too low"), Trouble::Quota);
        assert_eq!(trouble("unknown", "API Error: Connection error."), Trouble::Unreachable);
        let selected = "There's an issue with the selected model (x). Run --model to pick a different model.";
        assert_eq!(trouble("invalid_request", selected), Trouble::NotFound);
        assert_eq!(trouble("invalid_request", "Request too large (max 20MB)."), Trouble::Request);
        let refused = "API Error: Claude Code is unable to respond … try running /model x";
        assert_eq!(trouble("invalid_request", refused), Trouble::Request);
    }

    #[test]
    fn fields_win_over_words() {
        let failure = ApiFailure {
            status: Some(401),
            text: r#"API Error: 529 {"error":{"type":"overloaded_error"}}"#.into(),
            ..ApiFailure::default()
        };
        assert_eq!(failure.completed().trouble(), Trouble::Key);
    }
}
