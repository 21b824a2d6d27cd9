//! What every wire format must stand, whatever happens to its bytes on the way.

use std::sync::Arc;

use contract::provider::{Delta, ProviderError};
use contract::secret::Secret;

use crate::failure::Origin;
use crate::reply::{Decoder, Deltas};
use crate::tests::test_server::joined;

/// Who the replies in tests come from.
pub(crate) fn origin() -> Arc<Origin> {
    Arc::new(Origin {
        provider: "Example".into(),
        host: "example:1".into(),
        key_env: None,
        secrets: vec![Secret::new("sk-test-key".into())],
    })
}

/// Decodes chunks as a stream would bring them, then the end.
pub(crate) fn decode<'a>(
    mut decoder: impl Decoder,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<Delta>, Result<(), ProviderError>) {
    let mut deltas = Deltas::default();
    let result = chunks
        .into_iter()
        .try_for_each(|chunk| decoder.feed(chunk, &mut deltas))
        .and_then(|()| decoder.end(&mut deltas));
    (joined(deltas.drain().into_iter().map(without_made_up_id).collect()), result)
}

/// Cuts a recording at every byte: what comes out is never a half call, and never an end that is
/// none. Then feeds it in pieces of 1 to 64 bytes: the same comes out each time.
pub(crate) fn check<D: Decoder>(make: impl Fn() -> D, recording: &str) {
    let bytes = recording.as_bytes();
    let (whole, result) = decode(make(), [bytes]);
    assert!(result.is_ok());
    assert!(matches!(whole.last(), Some(Delta::Stopped(_))));
    for cut in 0..bytes.len() {
        let (deltas, result) = decode(make(), [&bytes[..cut]]);
        assert!(text(&whole).starts_with(&text(&deltas)), "cut at {cut}: text is lost or made up");
        for call in deltas.iter().filter(|delta| matches!(delta, Delta::Call(_))) {
            assert!(whole.contains(call), "cut at {cut}: {call:?}");
        }
        let stopped = deltas.iter().any(|delta| matches!(delta, Delta::Stopped(_)));
        assert_eq!(stopped, result.is_ok(), "cut at {cut}");
        if stopped {
            assert_eq!(text(&whole), text(&deltas), "cut at {cut}");
            assert_eq!(calls(&whole), calls(&deltas), "cut at {cut}");
            assert_eq!(whole.last(), deltas.last(), "cut at {cut}");
        }
    }
    for size in 1..=64 {
        let (deltas, result) = decode(make(), bytes.chunks(size));
        assert!(result.is_ok(), "pieces of {size}");
        assert_eq!(deltas, whole, "pieces of {size}");
    }
}

fn text(deltas: &[Delta]) -> String {
    let text = |delta: &Delta| match delta {
        Delta::Text(text) | Delta::Thinking(text) => Some(text.clone()),
        _ => None,
    };
    deltas.iter().filter_map(text).collect()
}

fn calls(deltas: &[Delta]) -> Vec<&Delta> {
    let is_call = |delta: &&Delta| matches!(delta, Delta::Call(_));
    deltas.iter().filter(is_call).collect()
}

fn without_made_up_id(delta: Delta) -> Delta {
    match delta {
        Delta::Call(mut call) if call.id.0.len() == 17 && call.id.0.starts_with("call_") => {
            call.id.0 = "call_made_up".into();
            Delta::Call(call)
        }
        delta => delta,
    }
}
