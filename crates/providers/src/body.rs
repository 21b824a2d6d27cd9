//! Request bodies, assembled from encoded parts, and helpers of all wire formats: tool arguments, call
//! ids, merged parameters.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use contract::message::Entry;
use contract::provider::Request;
use contract::tool::ToolSpec;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Writes a value as JSON at the end of `out`.
pub(crate) fn write_json<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    serde_json::to_writer(out, value).expect("text and JSON values always serialize into memory");
}

/// A value as JSON.
pub(crate) fn json_bytes<T: Serialize + ?Sized>(value: &T) -> Bytes {
    let mut out = Vec::new();
    write_json(&mut out, value);
    out.into()
}

/// Lays `more` over `fields`: objects are merged, null removes, anything else replaces.
pub(crate) fn merge(fields: &mut Map<String, Value>, more: &BTreeMap<String, Value>) {
    for (name, value) in more {
        merge_field(fields, name, value);
    }
}

/// Adds the parameters of a request. `names` has the provider's names of some, such as
/// `options.top_k`; one without a name is left out.
pub(crate) fn merge_params(
    fields: &mut Map<String, Value>,
    params: &BTreeMap<String, Value>,
    names: &[(&str, &str)],
) {
    for (param, value) in params {
        let own = names.iter().find(|(name, _)| name == param).map(|(_, own)| *own);
        match own.map(|own| own.split_once('.').unwrap_or(("", own))) {
            None => merge_field(fields, param, value),
            Some(("", "")) => {}
            Some(("", name)) => merge_field(fields, name, value),
            Some((object, name)) => merge_field(fields, object, &json!({name: value})),
        }
    }
}

fn merge_field(fields: &mut Map<String, Value>, name: &str, value: &Value) {
    match (fields.get_mut(name), value) {
        (_, Value::Null) => {
            fields.remove(name);
        }
        (Some(Value::Object(old)), Value::Object(more)) => {
            for (name, value) in more {
                merge_field(old, name, value);
            }
        }
        (_, value) => {
            fields.insert(name.to_owned(), value.clone());
        }
    }
}

/// A body of the fields of `head`, then fields whose values are JSON already, in pieces.
pub(crate) fn assemble(mut head: Map<String, Value>, encoded: &[(&str, &[&[u8]])]) -> Vec<u8> {
    for (name, _) in encoded {
        head.remove(*name);
    }
    let length = |pieces: &[&[u8]]| pieces.iter().map(|piece| piece.len()).sum::<usize>();
    let size: usize = encoded.iter().map(|(name, value)| name.len() + length(value) + 4).sum();
    let mut out = Vec::with_capacity(size + 1024);
    write_json(&mut out, &head);
    out.pop();
    for (name, value) in encoded {
        if out.len() > 1 {
            out.push(b',');
        }
        write_json(&mut out, *name);
        out.push(b':');
        for piece in *value {
            out.extend_from_slice(piece);
        }
    }
    out.push(b'}');
    out
}

/// The history as it was encoded last. It only grows, so a request encodes only the new entries.
#[derive(Debug, Default)]
pub(crate) struct HistoryMemo(Mutex<Option<Encoded>>);

#[derive(Debug)]
struct Encoded {
    format: String,
    count: usize,
    last: Arc<Entry>,
    text: Vec<u8>,
}

impl HistoryMemo {
    /// Hands the encoded history to `take`. `append` encodes one entry, knowing the one before.
    pub(crate) fn with<T>(
        &self,
        format: &str,
        history: &[Arc<Entry>],
        append: impl Fn(&mut Vec<u8>, Option<&Entry>, &Entry),
        take: impl FnOnce(&[u8]) -> T,
    ) -> T {
        let mut cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = cache.take().filter(|encoded| encoded.begins(format, history));
        let (mut text, count) = known.map_or_else(Default::default, |it| (it.text, it.count));
        let mut before = count.checked_sub(1).map(|last| &history[last]);
        for entry in &history[count..] {
            append(&mut text, before.map(AsRef::as_ref), entry);
            before = Some(entry);
        }
        let taken = take(&text);
        *cache = before.map(|last| {
            let (format, last) = (format.to_owned(), Arc::clone(last));
            Encoded { format, count: history.len(), last, text }
        });
        taken
    }
}

impl Encoded {
    /// Returns true if `history` starts with the encoded one: it has the same last entry in the same
    /// place, because histories only grow.
    fn begins(&self, format: &str, history: &[Arc<Entry>]) -> bool {
        let same = history.get(self.count - 1).is_some_and(|it| Arc::ptr_eq(it, &self.last));
        same && self.format == format
    }
}

/// The encoded parts of the last request.
#[derive(Debug, Default)]
pub(crate) struct Memos {
    pub(crate) history: HistoryMemo,
    pub(crate) tools: ToolsMemo,
}

/// Writes the comma between two entries.
pub(crate) fn separate(out: &mut Vec<u8>, before: Option<&Entry>) {
    if before.is_some() {
        out.push(b',');
    }
}

/// A body in the form that most formats share: the system prompt as the first message, then the
/// encoded history, then the tools.
pub(crate) fn chat(
    head: Map<String, Value>,
    request: &Request,
    history: &[u8],
    tools: &ToolsMemo,
) -> Vec<u8> {
    let mut system = Vec::new();
    if !request.system.is_empty() {
        write_json(&mut system, &json!({"role": "system", "content": &*request.system}));
    }
    let comma: &[u8] = if system.is_empty() || history.is_empty() { b"" } else { b"," };
    let messages: &[&[u8]] = &[b"[", &system, comma, history, b"]"];
    if request.tools.is_empty() {
        return assemble(head, &[("messages", messages)]);
    }
    let tools = tools.get(&request.tools, function_tools);
    assemble(head, &[("messages", messages), ("tools", &[&tools])])
}

/// The tools as they were encoded last; they rarely change.
#[derive(Debug, Default)]
pub(crate) struct ToolsMemo(Mutex<Option<(Tools, Bytes)>>);

type Tools = Arc<[Arc<ToolSpec>]>;

impl ToolsMemo {
    /// The encoded tools, from the cache if they are the same.
    pub(crate) fn get(
        &self,
        tools: &Tools,
        encode: impl FnOnce(&[Arc<ToolSpec>]) -> Bytes,
    ) -> Bytes {
        let mut cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, bytes)) = cache.as_ref()
            && Arc::ptr_eq(known, tools)
        {
            return bytes.clone();
        }
        let bytes = encode(tools);
        *cache = Some((Arc::clone(tools), bytes.clone()));
        bytes
    }
}

/// Tools in the form that most formats share.
pub(crate) fn function_tools(tools: &[Arc<ToolSpec>]) -> Bytes {
    let tools = tools.iter().map(|tool| {
        json!({"type": "function", "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.input_schema,
        }})
    });
    json_bytes(&tools.collect::<Vec<_>>())
}

/// An id for a call without one.
pub(crate) fn fresh_call_id() -> String {
    format!("call_{:012x}", fastrand::u64(..1 << 48))
}

/// Says if the arguments of a call can have been cut by the limit of the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Properly,
    Early,
}

/// The arguments of a call as a value; as a string if the text is not JSON or has a key twice:
/// readers differ in which of the two they use.
pub(crate) fn arguments(text: &str, ended: Ended) -> Value {
    if text.trim().is_empty() && ended == Ended::Properly {
        return Value::Object(Map::new());
    }
    let parsed: Result<Value, _> = parse(text, &mut None);
    match parsed {
        Ok(value) if colons(text) == keys(&value) => value,
        Ok(_) | Err(_) => Value::String(text.to_owned()),
    }
}

/// Counts the colons in a JSON text outside of its strings: one for each key.
fn colons(text: &str) -> usize {
    let (mut count, mut is_quoted, mut is_escaped) = (0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            b':' if !is_quoted => count += 1,
            _ => {}
        }
    }
    count
}

/// Counts the keys of a value, at all depths.
fn keys(value: &Value) -> usize {
    match value {
        Value::Object(fields) => fields.len() + fields.values().map(keys).sum::<usize>(),
        Value::Array(items) => items.iter().map(keys).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// Arguments as the object that every API requires, even if the model wrote something else.
pub(crate) fn arguments_object(args: &Value) -> Value {
    if args.is_object() { args.clone() } else { json!({"invalid_arguments": args}) }
}

/// Parses JSON. If it fails on halves of surrogate pairs, parses it again without them.
pub(crate) fn parse<'a, T: Deserialize<'a>>(
    text: &'a str,
    repaired: &'a mut Option<String>,
) -> Result<T, serde_json::Error> {
    serde_json::from_str(text).or_else(|error| match without_lone_surrogates(text) {
        Some(text) => serde_json::from_str(repaired.insert(text)),
        None => Err(error),
    })
}

fn without_lone_surrogates(text: &str) -> Option<String> {
    let unit = |at: usize| {
        let digits = text.as_bytes().get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let mut lone = Vec::new();
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', &text.as_bytes()[at..]) {
        at += found;
        at += match (unit(at), unit(at + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                lone.push(at);
                6
            }
            _ => 2,
        };
        if at >= text.len() {
            break;
        }
    }
    if lone.is_empty() {
        return None;
    }
    let mut repaired = text.to_owned();
    for at in lone {
        repaired.replace_range(at..at + 6, "\\ufffd");
    }
    Some(repaired)
}

#[cfg(test)]
mod tests {
    use contract::message::Message;

    use super::*;

    #[test]
    fn history_encoding_continues_incrementally() {
        let entry = |text: &str| Arc::new(Entry::new(Message::User { text: text.into() }));
        let memo = HistoryMemo::default();
        let encode = |history: &[Arc<Entry>], format: &str| {
            let encoded = std::cell::Cell::new(0);
            let append = |out: &mut Vec<u8>, before: Option<&Entry>, entry: &Entry| {
                encoded.set(encoded.get() + 1);
                separate(out, before);
                let Message::User { text } = &entry.message else { return };
                out.extend_from_slice(text.as_bytes());
            };
            let text = memo.with(format, history, append, <[u8]>::to_vec);
            (String::from_utf8(text).unwrap(), encoded.get())
        };
        let mut history = vec![entry("a"), entry("b")];
        assert_eq!(encode(&history, "x"), ("a,b".into(), 2));
        history.push(entry("c"));
        assert_eq!(encode(&history, "x"), ("a,b,c".into(), 1));
        assert_eq!(encode(&history, "x"), ("a,b,c".into(), 0));
        assert_eq!(encode(&history, "y"), ("a,b,c".into(), 3));
        assert_eq!(encode(&history[..1], "y"), ("a".into(), 1));
        let other = [entry("d"), entry("e")];
        assert_eq!(encode(&other, "y"), ("d,e".into(), 2));
        assert_eq!(encode(&[], "y"), (String::new(), 0));
    }

    #[test]
    fn merge_enters_objects_and_null_removes() {
        let mut fields =
            Map::from_iter([("a".to_owned(), json!({"x": 1, "y": 2})), ("b".to_owned(), json!(1))]);
        let more = [("a", json!({"y": 3})), ("b", Value::Null), ("c", json!([1]))];
        merge(&mut fields, &more.map(|(name, value)| (name.to_owned(), value)).into());
        assert_eq!(Value::Object(fields), json!({"a": {"x": 1, "y": 3}, "c": [1]}));
    }

    #[test]
    fn encoded_field_replaces_a_parameter_of_its_name() {
        let head =
            Map::from_iter([("messages".to_owned(), json!("mine")), ("n".to_owned(), json!(1))]);
        assert_eq!(assemble(head, &[("messages", &[b"[]"])]), br#"{"n":1,"messages":[]}"#);
        assert_eq!(assemble(Map::new(), &[("a", &[b"1"]), ("b", &[b"2"])]), br#"{"a":1,"b":2}"#);
    }

    #[test]
    fn invalid_arguments_stay_text() {
        assert_eq!(arguments("", Ended::Properly), json!({}));
        assert_eq!(arguments("", Ended::Early), json!(""));
        assert_eq!(arguments(r#"{"a": 1"#, Ended::Early), json!(r#"{"a": 1"#));
        assert_eq!(arguments(r#"{"a": 1,}"#, Ended::Properly), json!(r#"{"a": 1,}"#));
        assert_eq!(arguments(r#"{"a": NaN}"#, Ended::Properly), json!(r#"{"a": NaN}"#));
        for twice in [r#"{"a": 1, "a": 2}"#, r#"{"b": [{"a": 1, "\u0061": 2}]}"#] {
            assert_eq!(arguments(twice, Ended::Properly), json!(twice));
        }
        let text = r#"{"a": "x: \": y", "b": [{"a": ":"}], "c:": {}}"#;
        assert_eq!(arguments(text, Ended::Properly)["b"][0]["a"], ":");
        let deep = "[".repeat(100_000);
        assert_eq!(arguments(&deep, Ended::Properly), json!(deep));
        assert_eq!(arguments_object(&json!("x")), json!({"invalid_arguments": "x"}));
    }

    #[test]
    fn lone_surrogates_are_replaced() {
        let mut repaired = None;
        let text: String =
            parse(r#""a\ud83d \ud83e\udd80 \\ud83d \ude00""#, &mut repaired).unwrap();
        assert_eq!(text, "a\u{fffd} 🦀 \\ud83d \u{fffd}");
        assert!(parse::<Value>(r#"{"a":"#, &mut None).is_err());
        assert!(parse::<Value>("\"\\", &mut None).is_err());
    }

    #[test]
    fn equal_tools_are_encoded_once() {
        let memo = ToolsMemo::default();
        let tools: Arc<[Arc<ToolSpec>]> = Arc::new([]);
        assert_eq!(&memo.get(&tools, |_| Bytes::from_static(b"1"))[..], b"1");
        assert_eq!(&memo.get(&tools.clone(), |_| Bytes::from_static(b"2"))[..], b"1");
        let others: Arc<[Arc<ToolSpec>]> = Arc::from(Vec::new());
        let again = memo.get(&others, |_| Bytes::from_static(b"3"));
        assert!(Arc::ptr_eq(&tools, &others) || &again[..] == b"3");
    }

    #[test]
    fn fresh_ids_are_twelve_hexadecimal_digits() {
        let id = fresh_call_id();
        let digits = id.strip_prefix("call_").unwrap();
        assert_eq!(digits.len(), 12);
        assert!(digits.chars().all(|c| c.is_ascii_hexdigit()));
    }
}
