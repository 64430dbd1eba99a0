//! Errors as the OpenAI protocol writes them.

use super::json_string;
use hyper::StatusCode;

/// An error answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    message: String,
    kind: &'static str,
    param: Option<&'static str>,
}

impl ApiError {
    /// A request that asks for what cannot be done; `param` is the field at fault.
    pub(crate) fn bad(message: impl Into<String>, param: Option<&'static str>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, message: message.into(), kind: "BadRequestError", param }
    }

    /// A model that is not served here.
    pub(crate) fn no_model(asked: &str, served: &str) -> Self {
        let message = format!("The model `{asked}` does not exist. Valid aliases: {served}.");
        Self { status: StatusCode::NOT_FOUND, message, kind: "NotFoundError", param: Some("model") }
    }

    /// A request that was not taken, under its status; without one nobody was there to take it.
    pub(crate) fn refused(status: Option<u16>, message: String) -> Self {
        let unavailable = StatusCode::SERVICE_UNAVAILABLE;
        let status = status.map_or(unavailable, |status| StatusCode::from_u16(status).unwrap_or(unavailable));
        match status {
            StatusCode::BAD_REQUEST => Self::bad(message, None),
            StatusCode::INTERNAL_SERVER_ERROR => Self::internal(message),
            status => Self { status, message, kind: "ServiceUnavailableError", param: None },
        }
    }

    /// A body beyond the limit.
    pub(crate) fn too_large(limit: usize) -> Self {
        let message = format!("the request body exceeds {limit} bytes");
        Self { status: StatusCode::PAYLOAD_TOO_LARGE, message, kind: "BadRequestError", param: None }
    }

    /// An answer that could not be given.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        Self { status, message: message.into(), kind: "InternalServerError", param: None }
    }

    /// The body of the answer.
    pub(crate) fn body(&self) -> String {
        let param = self.param.map_or_else(|| "null".into(), json_string);
        format!(
            r#"{{"error":{{"message":{},"type":"{}","param":{param},"code":{}}}}}"#,
            json_string(&self.message),
            self.kind,
            self.status.as_u16()
        )
    }
}
