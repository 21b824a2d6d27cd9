//! A declaration, read key by key. What makes no sense is told with its place.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use contract::text;
use contract::text::closest;
use formats::schema;
use reqwest::{Method, Url};
use serde_json::{Map, Value, json};

use super::Api;
use super::template::{Template, Variables};
use crate::hidden;
use crate::problem::Problem;
use crate::words::Words;

/// The keys of an interface. `permissions` and `approval` are for whoever offers the tools.
const KEYS: Words =
    Words("type name description base_url headers auth endpoints permissions approval");
const ENDPOINT_KEYS: Words = Words(
    "name method path description parameters headers body_template query_params \
     response_extract timeout timeout_seconds",
);
const PARAMETER_KEYS: Words = Words("name type required default description");

const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

const NAME_LIMIT: usize = 64;

#[derive(Debug)]
pub(super) struct Endpoint {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) method: Method,
    pub(super) path: Template,
    pub(super) parameters: Vec<Parameter>,
    /// Of the interface, its `auth` and the endpoint's own, the strongest last.
    pub(super) headers: Vec<Header>,
    pub(super) body: Option<Body>,
    pub(super) query: Vec<(String, Template)>,
    pub(super) extract: Option<String>,
    pub(super) timeout: Duration,
}

#[derive(Clone, Debug)]
pub(super) struct Header {
    pub(super) name: String,
    pub(super) value: Template,
    pub(super) is_secret: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) description: String,
    /// The value if the model gives none; none if it has to give one.
    pub(super) default: Option<Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Integer,
    Number,
    Boolean,
}

/// A body with places for values in its texts.
#[derive(Clone, Debug)]
pub(super) enum Body {
    Text(Template),
    List(Vec<Body>),
    Fields(Vec<(String, Body)>),
    Fixed(Value),
}

impl Endpoint {
    pub(super) fn variables(&self) -> impl Iterator<Item = &str> {
        self.headers.iter().flat_map(|header| header.value.variables())
    }

    pub(super) fn schema(&self) -> Value {
        let property = |parameter: &Parameter| {
            let mut property = json!({"type": parameter.kind.as_str()});
            if !parameter.description.is_empty() {
                property["description"] = parameter.description.clone().into();
            }
            if let Some(default) = &parameter.default {
                property["default"] = default.clone();
            }
            (parameter.name.clone(), property)
        };
        let properties: Map<String, Value> = self.parameters.iter().map(property).collect();
        let required = self.parameters.iter().filter(|parameter| parameter.default.is_none());
        let required: Vec<&str> = required.map(|parameter| parameter.name.as_str()).collect();
        let mut schema = json!({"type": "object", "properties": properties});
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        schema["additionalProperties"] = false.into();
        schema
    }

    /// The schema that arguments are checked against: texts may replace numbers, and null a default.
    pub(super) fn accepts(&self) -> Value {
        let mut schema = schema::loosen(&self.schema(), &[]);
        for parameter in self.parameters.iter().filter(|parameter| parameter.default.is_some()) {
            let kind = &mut schema["properties"][&parameter.name]["type"];
            *kind = match kind.take() {
                Value::Array(mut kinds) => {
                    kinds.push("null".into());
                    kinds.into()
                }
                other => json!([other, "null"]),
            };
        }
        schema
    }
}

impl Kind {
    const ALL: [Self; 4] = [Self::Text, Self::Integer, Self::Number, Self::Boolean];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }
}

pub(super) fn read(value: &Value, place: &Path) -> (Option<Api>, Vec<Problem>) {
    let mut reader = Reader { place, problems: Vec::new() };
    let api = reader.api(value);
    (api, reader.problems)
}

struct Reader<'a> {
    place: &'a Path,
    problems: Vec<Problem>,
}

struct Fault(String, String);

fn fault(what: impl Into<String>, hint: impl Into<String>) -> Fault {
    Fault(what.into(), hint.into())
}

impl Reader<'_> {
    fn tell(&mut self, subject: &str, fault: &Fault) -> String {
        let what = format!("{subject}: {}", fault.0);
        let problem = Problem::new(self.place, what, &fault.1);
        let what = problem.what.clone();
        self.problems.push(problem);
        what
    }

    fn api(&mut self, value: &Value) -> Option<Api> {
        let named = value.get("name").and_then(Value::as_str).unwrap_or("without a name");
        let subject = format!("api {named}");
        match self.parts(value, &subject) {
            Ok(api) => Some(api),
            Err(fault) => {
                self.tell(&subject, &fault);
                None
            }
        }
    }

    fn parts(&mut self, value: &Value, subject: &str) -> Result<Api, Fault> {
        let fields = mapping(value)?;
        self.unknown(fields, KEYS, subject);
        if !matches!(fields.get("type"), None | Some(Value::Null)) && fields["type"] != "api" {
            return Err(fault("its `type` is not `api`", "write `type: api`"));
        }
        let name = required_words(fields, "name")?;
        let base = base(&required_words(fields, "base_url")?)?;
        let shared = [(headers(fields, "headers")?, false), (headers(fields, "auth")?, true)];
        let declared = match fields.get("endpoints") {
            Some(Value::Array(declared)) if !declared.is_empty() => declared,
            _ => {
                let hint = "list at least one, with `name`, `method` and `path`";
                return Err(fault("it has no `endpoints`", hint));
            }
        };
        let mut endpoints: Vec<Arc<Endpoint>> = Vec::new();
        let mut lost = Vec::new();
        for (index, value) in declared.iter().enumerate() {
            let named = value.get("name").and_then(Value::as_str);
            let named = named.map_or_else(|| (index + 1).to_string(), str::to_owned);
            let subject = format!("{subject}, endpoint {named}");
            match self.endpoint(value, &shared, &subject) {
                Ok(endpoint) if endpoints.iter().any(|known| known.name == endpoint.name) => {
                    let what = "another endpoint has that name, so this one is left out";
                    lost.push(self.tell(&subject, &fault(what, "give it a name of its own")));
                }
                Ok(endpoint) => endpoints.push(Arc::new(endpoint)),
                Err(fault) => lost.push(self.tell(&subject, &fault)),
            }
        }
        if endpoints.is_empty() {
            return Err(fault("no endpoint of it can be used", "correct those above"));
        }
        let description = words(fields, "description")?.unwrap_or_default();
        Ok(Api { name, description, base, endpoints, lost })
    }

    fn endpoint(
        &mut self,
        value: &Value,
        shared: &[(Vec<(String, String)>, bool)],
        subject: &str,
    ) -> Result<Endpoint, Fault> {
        let fields = mapping(value)?;
        self.unknown(fields, ENDPOINT_KEYS, subject);
        let name = required_words(fields, "name")?;
        let in_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.len() > NAME_LIMIT || !name.chars().all(in_name) {
            let hint = "use at most 64 letters, digits, underscores and hyphens";
            return Err(fault(format!("{name:?} cannot be the name of a tool"), hint));
        }
        let method = words(fields, "method")?.unwrap_or_else(|| String::from("GET"));
        if !METHODS.contains(&method.as_str()) {
            let hint = format!("it is one of {}", METHODS.join(", "));
            return Err(fault(format!("there is no method {method:?}"), hint));
        }
        let path = required_words(fields, "path")?;
        let parameters = self.parameters(fields, subject)?;
        let names: BTreeSet<&str> = parameters.iter().map(|it| it.name.as_str()).collect();
        let is_parameter = |name: &str| names.contains(name);
        let template = |text: &str| Template::parse(text, is_parameter, Variables::Plain);
        let own = [(headers(fields, "headers")?, false)];
        let headers = shared.iter().chain(&own).flat_map(|(headers, is_secret)| {
            headers.iter().map(|(name, value)| Header {
                name: name.clone(),
                value: Template::parse(value, is_parameter, Variables::Meant),
                is_secret: *is_secret,
            })
        });
        let description = words(fields, "description")?.filter(|text| !text.trim().is_empty());
        let description = description.unwrap_or_else(|| format!("{method} {path}"));
        let query = texts(fields, "query_params")?;
        Ok(Endpoint {
            description: hidden::strip(&description).text,
            path: template(&path),
            headers: headers.collect(),
            body: match fields.get("body_template") {
                None | Some(Value::Null) => None,
                Some(body @ Value::Object(_)) => Some(Body::parse(body, &template)),
                Some(_) => return Err(fault("`body_template` is not a mapping", "write one")),
            },
            query: query.into_iter().map(|(name, text)| (name, template(&text))).collect(),
            extract: words(fields, "response_extract")?.filter(|path| !path.is_empty()),
            timeout: timeout(fields)?,
            method: Method::from_bytes(method.as_bytes()).expect("a method of the list"),
            parameters,
            name,
        })
    }

    fn parameters(
        &mut self,
        fields: &Map<String, Value>,
        subject: &str,
    ) -> Result<Vec<Parameter>, Fault> {
        let declared = match fields.get("parameters") {
            None | Some(Value::Null) => return Ok(Vec::new()),
            Some(Value::Array(declared)) => declared,
            Some(_) => return Err(fault("`parameters` is not a list", "write a list of them")),
        };
        let mut parameters: Vec<Parameter> = Vec::new();
        for value in declared {
            let fields = mapping(value)?;
            self.unknown(fields, PARAMETER_KEYS, subject);
            let parameter = parameter(fields)?;
            if parameters.iter().any(|known| known.name == parameter.name) {
                let what = format!("parameter '{}' is declared twice", parameter.name);
                return Err(fault(what, "give each a name of its own"));
            }
            parameters.push(parameter);
        }
        Ok(parameters)
    }

    fn unknown(&mut self, fields: &Map<String, Value>, known: Words, subject: &str) {
        for key in fields.keys().filter(|key| !known.has(key)) {
            let hint = match closest(key, known) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => String::from("remove it"),
            };
            self.tell(subject, &fault(format!("`{key}` is not known and is ignored"), hint));
        }
    }
}

fn parameter(fields: &Map<String, Value>) -> Result<Parameter, Fault> {
    let name = required_words(fields, "name")?;
    let mut characters = name.chars();
    let begins = characters.next().is_some_and(|c| c.is_alphabetic() || c == '_');
    if !begins || !characters.all(|c| c.is_alphanumeric() || c == '_') {
        let hint = "use letters, digits and underscores, and no digit first";
        return Err(fault(format!("'{name}' is not a valid Python identifier"), hint));
    }
    let kind = required_words(fields, "type")?;
    let Some(kind) = Kind::ALL.into_iter().find(|known| known.as_str() == kind) else {
        let what = format!("parameter '{name}' has the unknown type {kind:?}");
        return Err(fault(what, "it is one of string, integer, number, boolean"));
    };
    let is_required = match fields.get("required") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(is_required)) => *is_required,
        Some(Value::String(word)) if ["yes", "on"].contains(&word.as_str()) => true,
        Some(Value::String(word)) if ["no", "off"].contains(&word.as_str()) => false,
        Some(_) => {
            let what = format!("`required` of parameter '{name}' is neither true nor false");
            return Err(fault(what, "write `required: true` or leave it out"));
        }
    };
    let description = words(fields, "description")?.unwrap_or_default();
    Ok(Parameter {
        kind,
        description: hidden::strip(&description).text,
        default: (!is_required).then(|| fields.get("default").cloned().unwrap_or_default()),
        name,
    })
}

impl Body {
    fn parse(value: &Value, template: &impl Fn(&str) -> Template) -> Self {
        match value {
            Value::String(text) => Self::Text(template(text)),
            Value::Array(items) => {
                Self::List(items.iter().map(|item| Self::parse(item, template)).collect())
            }
            Value::Object(fields) => {
                let field =
                    |(name, value): (&String, _)| (name.clone(), Self::parse(value, template));
                Self::Fields(fields.iter().map(field).collect())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => Self::Fixed(value.clone()),
        }
    }
}

fn base(address: &str) -> Result<Url, Fault> {
    let shown = text::visible(text::head(address, 200)).into_owned();
    let hint = "write a whole address, such as `https://api.example.com/v1`";
    let url = Url::parse(address.trim());
    let url = url.map_err(|error| fault(format!("`base_url` {shown:?}: {error}"), hint))?;
    if !["http", "https"].contains(&url.scheme()) || url.host_str().is_none_or(str::is_empty) {
        return Err(fault(format!("`base_url` {shown:?} is not an http or https address"), hint));
    }
    if !url.username().is_empty() || url.password().is_some() {
        let hint = "put it into `auth`, as `Authorization: \"Basic ${VARIABLE}\"`";
        return Err(fault("`base_url` holds a login", hint));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(fault("`base_url` ends in a query", "put it into `query_params`"));
    }
    Ok(url)
}

fn timeout(fields: &Map<String, Value>) -> Result<Duration, Fault> {
    let Some(value) = fields.get("timeout").or_else(|| fields.get("timeout_seconds")) else {
        return Ok(REQUEST_TIMEOUT);
    };
    let seconds = value.as_f64().filter(|seconds| *seconds > 0.0 && *seconds <= 86_400.0);
    seconds.map(Duration::from_secs_f64).ok_or_else(|| {
        fault(
            "`timeout` is not a number of seconds",
            "write a number above 0, such as `timeout: 30`",
        )
    })
}

fn mapping(value: &Value) -> Result<&Map<String, Value>, Fault> {
    value
        .as_object()
        .ok_or_else(|| fault("this is not a mapping of keys", "write `key: value` lines"))
}

fn words(fields: &Map<String, Value>, key: &str) -> Result<Option<String>, Fault> {
    match fields.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(fault(format!("`{key}` is not text"), "put it in quotes")),
    }
}

fn required_words(fields: &Map<String, Value>, key: &str) -> Result<String, Fault> {
    let found = words(fields, key)?.filter(|text| !text.trim().is_empty());
    found.ok_or_else(|| fault(format!("`{key}` is missing"), format!("add a line `{key}: ..`")))
}

fn texts(fields: &Map<String, Value>, key: &str) -> Result<Vec<(String, String)>, Fault> {
    let entries = match fields.get(key) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Object(entries)) => entries,
        Some(_) => {
            return Err(fault(format!("`{key}` is not a mapping"), "write `name: value` lines"));
        }
    };
    let text = |(name, value): (&String, &Value)| match value {
        Value::String(text) => Ok((name.clone(), text.clone())),
        Value::Bool(_) | Value::Number(_) => Ok((name.clone(), value.to_string())),
        Value::Null | Value::Array(_) | Value::Object(_) => {
            Err(fault(format!("`{key}.{name}` is not text"), "put it in quotes"))
        }
    };
    entries.iter().map(text).collect()
}

fn headers(fields: &Map<String, Value>, key: &str) -> Result<Vec<(String, String)>, Fault> {
    let headers = texts(fields, key)?;
    for (name, _) in &headers {
        if reqwest::header::HeaderName::from_bytes(name.as_bytes()).is_err() {
            let what = format!("`{key}`: {name:?} cannot be the name of a header");
            return Err(fault(what, "use letters, digits and hyphens"));
        }
    }
    Ok(headers)
}
