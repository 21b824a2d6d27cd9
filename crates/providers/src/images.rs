//! Images and recordings in requests, and the text in place of one that the model does not accept.

use bytes::Bytes;
use contract::message::{Entry, Message};
use serde_json::{Value, json};

use crate::catalog::{Quirks, is_listed};

/// An image or a recording: its media type and its bytes in base64.
pub(crate) type Image = (String, String);

/// The images and recordings that a model accepts.
pub(crate) struct Images<'a> {
    model: &'a str,
    are_accepted: bool,
    takes_recordings: bool,
}

impl<'a> Images<'a> {
    pub(crate) fn of(quirks: &Quirks, model: &'a str) -> Self {
        let are_accepted = !is_listed(&quirks.text_models, model);
        Self { model, are_accepted, takes_recordings: false }
    }

    pub(crate) fn and_recordings(self) -> Self {
        Self { takes_recordings: true, ..self }
    }

    /// Adds to the name of an encoding what follows from this.
    pub(crate) fn format(&self, name: &str) -> String {
        if self.are_accepted {
            return name.to_owned();
        }
        format!("{name} without images for {}", self.model)
    }

    /// Encodes an entry once for a format.
    pub(crate) fn wire(
        &self,
        format: &str,
        entry: &Entry,
        encode: impl Fn(&Message, Option<&Image>) -> Bytes,
    ) -> Bytes {
        entry.wire(format, |message| match (message, &entry.image) {
            (Message::User { text }, Some((media_type, _))) => match self.refusal(media_type) {
                Some(why) => {
                    let what = text.trim_end_matches(']');
                    encode(&Message::User { text: format!("{what} not sent: {why}]") }, None)
                }
                None => encode(message, entry.image.as_ref()),
            },
            (message, image) => encode(message, image.as_ref()),
        })
    }

    fn refusal(&self, media_type: &str) -> Option<String> {
        match (media_type.starts_with("audio/"), self) {
            (true, Self { takes_recordings: false, .. }) => {
                Some("this provider does not accept recordings".to_owned())
            }
            (false, Self { are_accepted: false, model, .. }) => {
                Some(format!("{model} does not accept images"))
            }
            _ => None,
        }
    }
}

/// An image as an address that holds it.
pub(crate) fn data_url((media_type, data): &Image) -> Value {
    json!(format!("data:{media_type};base64,{data}"))
}
