//! Answers of our own: whole, short, in Anthropic's shape where something went wrong.

use std::fmt::Write as _;

use serde_json::json;

/// An answer of ours.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Reply {
    status: u16,
    fields: Vec<(&'static str, String)>,
    body: Vec<u8>,
    close: bool,
}

impl Reply {
    /// An answer with a JSON body.
    pub fn json(status: u16, value: &serde_json::Value) -> Self {
        Self {
            status,
            fields: vec![("content-type", "application/json".to_owned())],
            body: value.to_string().into_bytes(),
            close: false,
        }
    }

    /// An answer with a text.
    pub fn text(status: u16, kind: &str, body: String) -> Self {
        let fields = vec![("content-type", kind.to_owned())];
        Self { status, fields, body: body.into_bytes(), close: false }
    }

    /// An error in Anthropic's shape.
    pub fn error(status: u16, message: &str, request_id: &str) -> Self {
        Self::json(status, &error(status, message, request_id))
    }

    /// Adds a field.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.fields.push((name, value.into()));
        self
    }

    /// Ends the connection behind this answer.
    #[must_use]
    pub fn closing(mut self) -> Self {
        self.close = true;
        self
    }

    /// Its status.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Its body.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Whether the connection ends behind it.
    pub fn is_closing(&self) -> bool {
        self.close
    }

    /// As it stands on the wire. The answer to a HEAD has no body, but its length.
    pub fn bytes(&self, request_id: &str, to_head: bool, keep_alive: bool) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status));
        for (name, value) in &self.fields {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        let _ = write!(head, "content-length: {}\r\nx-mo-request-id: {request_id}\r\n", self.body.len());
        if self.status >= 400 {
            let _ = write!(head, "request-id: {request_id}\r\n");
        }
        if self.close || !keep_alive {
            head.push_str("connection: close\r\n");
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        if !to_head {
            bytes.extend_from_slice(&self.body);
        }
        bytes
    }
}

/// The body of an error in Anthropic's shape.
pub fn error(status: u16, message: &str, request_id: &str) -> serde_json::Value {
    let kind = match status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        529 => "overloaded_error",
        400..=499 => "invalid_request_error",
        _ => "api_error",
    };
    json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": request_id})
}

/// The words behind a status.
pub fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Payload Too Large",
        415 => "Unsupported Media Type",
        421 => "Misdirected Request",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        529 => "Overloaded",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_anthropics_shape_and_both_ids() {
        let bytes = Reply::error(413, "too large", "mo-1").closing().bytes("mo-1", false, true);
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 413 Payload Too Large\r\n"), "{head}");
        assert!(head.contains("request-id: mo-1") && head.ends_with("connection: close"));
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(body["error"]["type"], "request_too_large");
        assert_eq!(body["type"], "error");
    }
}
