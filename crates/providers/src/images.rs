//! Images in requests, and the text in place of one that the model does not accept.

use bytes::Bytes;
use contract::message::{Entry, Message};
use serde_json::{Value, json};

use crate::catalog::{Quirks, is_listed};

/// An image: its media type and its bytes in base64.
pub(crate) type Image = (String, String);

/// The treatment of images by a model.
pub(crate) enum Images<'a> {
    Accepted,
    Refused { model: &'a str },
}

impl<'a> Images<'a> {
    pub(crate) fn of(quirks: &Quirks, model: &'a str) -> Self {
        if is_listed(&quirks.text_models, model) { Self::Refused { model } } else { Self::Accepted }
    }

    /// Adds to the name of an encoding what follows from this.
    pub(crate) fn format(&self, name: &str) -> String {
        match self {
            Self::Accepted => name.to_owned(),
            Self::Refused { model } => format!("{name} without images for {model}"),
        }
    }

    /// Encodes an entry once for a format.
    pub(crate) fn wire(
        &self,
        format: &str,
        entry: &Entry,
        encode: impl Fn(&Message, Option<&Image>) -> Bytes,
    ) -> Bytes {
        entry.wire(format, |message| match (self, message, &entry.image) {
            (Self::Refused { model }, Message::User { text }, Some(_)) => {
                let what = text.trim_end_matches(']');
                let text = format!("{what} not sent: {model} does not accept images]");
                encode(&Message::User { text }, None)
            }
            (_, message, image) => encode(message, image.as_ref()),
        })
    }
}

/// An image as an address that holds it.
pub(crate) fn data_url((media_type, data): &Image) -> Value {
    json!(format!("data:{media_type};base64,{data}"))
}
