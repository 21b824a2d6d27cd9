//! A call made into a request: every value at its own place, encoded for it.

use std::collections::{BTreeMap, BTreeSet};

use formats::{percent, python};
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};

use super::declared::{Body, Endpoint, Kind, Parameter};
use super::template::{Piece, Template};

/// Characters of a value from which on it is taken for a secret where it comes back.
const SECRET_LENGTH: usize = 6;

#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Value>,
    /// Values that must not be shown if they come back.
    pub(super) secrets: BTreeSet<String>,
}

pub(super) fn prepare(
    endpoint: &Endpoint,
    base: &Url,
    args: &Value,
    variables: &BTreeMap<String, String>,
) -> Result<Prepared, String> {
    let values: BTreeMap<String, Option<String>> = endpoint
        .parameters
        .iter()
        .map(|parameter| Ok((parameter.name.clone(), value(parameter, args)?)))
        .collect::<Result<_, String>>()?;
    let url = address(endpoint, base, &values)?;
    let (headers, secrets) = headers(endpoint, &values, variables)?;
    let body = endpoint.body.as_ref().and_then(|body| filled(body, &values));
    Ok(Prepared { url, headers, body, secrets })
}

fn value(parameter: &Parameter, args: &Value) -> Result<Option<String>, String> {
    let given = args.get(&parameter.name).filter(|value| !value.is_null());
    let given = given.map(|value| coerced(parameter, value)).transpose()?;
    let value = given.as_ref().or(parameter.default.as_ref()).filter(|value| !value.is_null());
    Ok(value.map(|value| match (parameter.kind, value.as_f64()) {
        (Kind::Number, Some(number)) => python::float_text(number),
        #[expect(clippy::cast_possible_truncation, reason = "the schema has checked it")]
        (Kind::Integer, Some(number)) if value.is_f64() => (number as i64).to_string(),
        (Kind::Text | Kind::Integer | Kind::Number | Kind::Boolean, _) => python::to_text(value),
    }))
}

/// A value of the parameter's type, also if it is written as a text or as another type.
fn coerced(parameter: &Parameter, value: &Value) -> Result<Value, String> {
    let whole = |number: f64| number.fract() == 0.0 && number.abs() < 9e15;
    let (read, kind) = match parameter.kind {
        Kind::Text => return Ok(value.clone()),
        Kind::Integer => {
            let read = match value {
                Value::String(text) => text.trim().parse::<i64>().ok().map(Value::from),
                Value::Bool(flag) => Some(i64::from(*flag).into()),
                Value::Number(number) => number
                    .as_f64()
                    .filter(|it| number.is_i64() || number.is_u64() || whole(*it))
                    .map(|_| value.clone()),
                _ => None,
            };
            (read, "integer")
        }
        Kind::Number => {
            let read = match value {
                Value::String(text) => {
                    text.trim().parse::<f64>().ok().filter(|it| it.is_finite()).map(Value::from)
                }
                Value::Bool(flag) => Some(f64::from(u8::from(*flag)).into()),
                Value::Number(_) => Some(value.clone()),
                _ => None,
            };
            (read, "number")
        }
        Kind::Boolean => {
            let read = match value {
                Value::Bool(_) => Some(value.clone()),
                Value::Number(number) => match number.as_f64() {
                    Some(0.0) => Some(false.into()),
                    Some(1.0) => Some(true.into()),
                    _ => None,
                },
                Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
                    "true" | "t" | "yes" | "y" | "on" | "1" => Some(true.into()),
                    "false" | "f" | "no" | "n" | "off" | "0" => Some(false.into()),
                    _ => None,
                },
                _ => None,
            };
            (read, "boolean")
        }
    };
    read.ok_or_else(|| format!("{}: {value} is not of type \"{kind}\"", parameter.name))
}

fn address(
    endpoint: &Endpoint,
    base: &Url,
    values: &BTreeMap<String, Option<String>>,
) -> Result<Url, String> {
    let path = path(&endpoint.path, values)?;
    let text = format!("{}/{}", base.as_str().trim_end_matches('/'), path.trim_start_matches('/'));
    let mut url =
        Url::parse(&text).map_err(|error| format!("the address is not valid: {error}"))?;
    if url.origin() != base.origin() {
        return Err(String::from("the URL would point to another host"));
    }
    let pairs: Vec<String> = endpoint
        .query
        .iter()
        .filter_map(|(name, template)| {
            let value = template.filled(values, |_| None)?;
            Some(format!("{}={}", percent::encode(name), percent::encode(&value)))
        })
        .collect();
    if !pairs.is_empty() {
        let own = url.query().map(|query| format!("{query}&")).unwrap_or_default();
        url.set_query(Some(&format!("{own}{}", pairs.join("&"))));
    }
    Ok(url)
}

/// The path with its values. Each stays within the segment or the part of a query it stands in.
fn path(template: &Template, values: &BTreeMap<String, Option<String>>) -> Result<String, String> {
    let mut path = String::new();
    for piece in template.pieces() {
        match piece {
            // A path is read without variables.
            Piece::Text(text) | Piece::Variable(text) => path.push_str(text),
            Piece::Parameter(name) => {
                let value = values.get(name).and_then(Option::as_deref);
                let value = value
                    .ok_or_else(|| format!("`{name}` needs a value: it is a part of the path"))?;
                path.push_str(&percent::encode(value));
            }
        }
    }
    // Servers and clients take such a segment for a way up, however it is written.
    let (before, _) = path.split_once('?').unwrap_or((&path, ""));
    let fixed: String = template
        .pieces()
        .iter()
        .map(|piece| match piece {
            Piece::Text(text) => text.as_str(),
            Piece::Parameter(_) | Piece::Variable(_) => "x",
        })
        .collect();
    let climbs = |path: &str| path.split('/').filter(|it| [".", ".."].contains(it)).count();
    let (fixed, _) = fixed.split_once('?').unwrap_or((&fixed, ""));
    if climbs(before) > climbs(fixed) {
        return Err(String::from("a value in the path must not be `.` or `..`"));
    }
    Ok(path)
}

fn headers(
    endpoint: &Endpoint,
    values: &BTreeMap<String, Option<String>>,
    variables: &BTreeMap<String, String>,
) -> Result<(HeaderMap, BTreeSet<String>), String> {
    let mut headers = HeaderMap::new();
    let mut secrets = BTreeSet::new();
    for header in &endpoint.headers {
        let variable = |name: &str| variables.get(name).filter(|value| !value.is_empty()).cloned();
        secrets.extend(header.value.variables().filter_map(variable));
        let Some(text) = header.value.filled(values, variable) else { continue };
        if header.is_secret {
            secrets.extend(text.split_once(' ').map(|(_, key)| key.to_owned()));
            secrets.insert(text.clone());
        }
        let name = HeaderName::from_bytes(header.name.as_bytes());
        let value = HeaderValue::from_bytes(text.trim().as_bytes());
        let (Ok(name), Ok(mut value)) = (name, value) else {
            let name = &header.name;
            return Err(format!("header `{name}` would hold characters that no header can have"));
        };
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    secrets.retain(|secret| secret.chars().count() >= SECRET_LENGTH);
    Ok((headers, secrets))
}

/// The body with its values; none for a text that is one parameter without a value.
fn filled(body: &Body, values: &BTreeMap<String, Option<String>>) -> Option<Value> {
    match body {
        Body::Text(template) => template.filled(values, |_| None).map(Value::String),
        Body::List(items) => {
            Some(Value::Array(items.iter().filter_map(|item| filled(item, values)).collect()))
        }
        Body::Fields(fields) => {
            let field = |(name, body): &(String, Body)| Some((name.clone(), filled(body, values)?));
            Some(Value::Object(fields.iter().filter_map(field).collect::<Map<_, _>>()))
        }
        Body::Fixed(value) => Some(value.clone()),
    }
}
