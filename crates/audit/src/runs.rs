//! The database of a role's runs: one row for each, chained by keyed hashes so that a change is
//! found, and the calls of paused runs that wait for approval.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use contract::event::{Event, EventKind, Outcome};
use contract::log::{Log, LogError};
use files::private::{self, Durability};
use ring::hmac;
use ring::rand::{SecureRandom as _, SystemRandom};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, params, params_from_iter};
use serde::Serialize;
use serde_json::{Value, json};

use crate::security_event::SecurityEvent;

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS audit_log (
    id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT, agent_name TEXT, timestamp TEXT,
    user_prompt TEXT, model TEXT, provider TEXT, output TEXT, tokens_in INTEGER,
    tokens_out INTEGER, total_tokens INTEGER, thinking_tokens INTEGER, reasoning_tokens INTEGER,
    tool_calls INTEGER, duration_ms INTEGER, success INTEGER, error TEXT, trigger_type TEXT,
    trigger_metadata TEXT, principal_id TEXT, tool_names TEXT, event_timeline_json TEXT,
    judge_verdicts TEXT, prev_hash TEXT, record_hash TEXT);
CREATE TABLE IF NOT EXISTS pending_approvals (
    run_id TEXT, tool_call_id TEXT, tool_name TEXT, agent_name TEXT, role_path TEXT,
    arguments_json TEXT, variables_json TEXT, created_at TEXT, resolved_at TEXT, resolved_by TEXT, decision TEXT,
    PRIMARY KEY (run_id, tool_call_id));
CREATE TABLE IF NOT EXISTS flow_checkpoints (
    flow_run_id TEXT, service_name TEXT, sequence_number INTEGER, envelope_json TEXT,
    result_json TEXT, created_at TEXT, PRIMARY KEY (flow_run_id, sequence_number));
CREATE TABLE IF NOT EXISTS security_events (
    id INTEGER PRIMARY KEY AUTOINCREMENT, timestamp TEXT NOT NULL, event_type TEXT NOT NULL,
    agent_name TEXT NOT NULL, details TEXT NOT NULL);";

/// The columns of a run that its hash covers.
const COLUMNS: [&str; 22] = [
    "run_id",
    "agent_name",
    "timestamp",
    "user_prompt",
    "model",
    "provider",
    "output",
    "tokens_in",
    "tokens_out",
    "total_tokens",
    "thinking_tokens",
    "reasoning_tokens",
    "tool_calls",
    "duration_ms",
    "success",
    "error",
    "trigger_type",
    "trigger_metadata",
    "principal_id",
    "tool_names",
    "event_timeline_json",
    "judge_verdicts",
];

const KEY_BYTES: usize = 32;

type Record = BTreeMap<String, Value>;

/// Replaces secrets in a text.
pub type Scrub = Arc<dyn Fn(&str) -> String + Send + Sync>;

const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

pub struct AuditStore {
    connection: Mutex<Connection>,
    key: hmac::Key,
}

/// The runs that [`AuditStore::runs`] returns.
#[derive(Clone, Debug, Default)]
pub struct RunFilter {
    pub agent: Option<String>,
    pub run_id: Option<String>,
    pub trigger_type: Option<String>,
    /// The first and the last time, as far as they are compared as text.
    pub since: Option<String>,
    pub until: Option<String>,
    pub limit: usize,
}

/// A call that waits for approval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PendingCall {
    pub run_id: String,
    pub tool_call_id: String,
    pub tool_name: String,
    pub agent_name: String,
    pub role_path: PathBuf,
    pub arguments: Value,
    /// The values of the role's variables.
    pub variables: BTreeMap<String, String>,
    pub created_at: String,
}

impl AuditStore {
    /// Opens the database. The key is `hex_key`, otherwise that of a file beside the database, which
    /// is created.
    pub fn open(home: &Path, file: Option<&Path>, hex_key: Option<&str>) -> Result<Self, String> {
        let path = file.map_or_else(|| home.join("audit.db"), Path::to_owned);
        let failed = |what: String| format!("cannot open the record {}: {what}", path.display());
        path.parent()
            .map_or(Ok(()), private::make_directory)
            .map_err(|it| failed(it.to_string()))?;
        private::append(&path).map_err(|error| failed(error.to_string()))?;
        let connection = Connection::open(&path).and_then(|connection| {
            connection.busy_timeout(BUSY_TIMEOUT)?;
            connection.execute_batch(SCHEMA)?;
            Ok(connection)
        });
        let connection = Mutex::new(connection.map_err(|error| failed(error.to_string()))?);
        let bytes = match hex_key {
            Some(text) => from_hex(text).ok_or("INITRUNNER_AUDIT_HMAC_KEY is not a hex number")?,
            None => key_file(&home.join("audit_hmac.key"))?,
        };
        Ok(Self { connection, key: hmac::Key::new(hmac::HMAC_SHA256, &bytes) })
    }

    /// Runs one piece of work in a transaction.
    pub(crate) fn with<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, String> {
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let done = connection.transaction().and_then(|transaction| {
            let done = work(&transaction)?;
            transaction.commit()?;
            Ok(done)
        });
        done.map_err(|error| format!("the record of runs failed: {error}"))
    }

    /// Records a run that has ended. Columns that are not given are null.
    pub(crate) fn record_columns(&self, columns: Value) -> Result<(), String> {
        let mut record: Record = serde_json::from_value(columns).unwrap_or_default();
        record.insert("timestamp".to_owned(), now().into());
        for column in COLUMNS {
            record.entry(column.to_owned()).or_insert(Value::Null);
        }
        self.record(&record)
    }

    fn record(&self, record: &Record) -> Result<(), String> {
        self.with(|connection| {
            let last = "SELECT record_hash FROM audit_log ORDER BY id DESC LIMIT 1";
            let before: String = optional(connection.query_row(last, [], |row| row.get(0)))?;
            let hash = self.hash(&before, record);
            let places = vec!["?"; COLUMNS.len() + 2].join(",");
            let columns = COLUMNS.join(",");
            let insert = format!(
                "INSERT INTO audit_log ({columns},prev_hash,record_hash) VALUES ({places})"
            );
            let values = COLUMNS.iter().map(|it| sql_value(record.get(*it))).chain([
                rusqlite::types::Value::Text(before.clone()),
                rusqlite::types::Value::Text(hash),
            ]);
            connection.execute(&insert, params_from_iter(values)).map(drop)
        })
    }

    fn hash(&self, before: &str, record: &Record) -> String {
        let text = format!("{before}{}", ascii_json(record));
        hex(hmac::sign(&self.key, text.as_bytes()).as_ref())
    }

    /// The runs that a filter selects, newest first.
    pub fn runs(&self, filter: &RunFilter) -> Result<Vec<Record>, String> {
        let select = format!(
            "SELECT {},prev_hash,record_hash FROM audit_log WHERE (?1 IS NULL OR agent_name = ?1) \
             AND (?2 IS NULL OR run_id = ?2) AND (?3 IS NULL OR trigger_type = ?3) \
             AND (?4 IS NULL OR timestamp >= ?4) AND (?5 IS NULL OR timestamp <= ?5) \
             ORDER BY id DESC LIMIT ?6",
            COLUMNS.join(",")
        );
        let RunFilter { agent, run_id, trigger_type, since, until, limit } = filter;
        let limit = i64::try_from(*limit).unwrap_or(i64::MAX);
        self.with(|connection| {
            let mut statement = connection.prepare(&select)?;
            let values = params![agent, run_id, trigger_type, since, until, limit];
            statement.query_map(values, record_of)?.collect()
        })
    }

    /// Checks the chain of hashes. Returns the number of runs, and the row of the first that was
    /// changed or whose predecessor was.
    pub fn verify(&self) -> Result<(usize, Option<usize>), String> {
        let mut records = self.runs(&RunFilter { limit: usize::MAX, ..RunFilter::default() })?;
        records.reverse();
        let count = records.len();
        let mut before: Option<String> = None;
        for (index, mut record) in records.into_iter().enumerate() {
            let mut taken = |key: &str| match record.remove(key) {
                Some(Value::String(text)) => text,
                _ => String::new(),
            };
            let [previous, hash] = ["prev_hash", "record_hash"].map(&mut taken);
            // Older rows may have been pruned, so the first one is not compared.
            let follows = before.as_ref().is_none_or(|before| *before == previous);
            if !follows || self.hash(&previous, &record) != hash {
                return Ok((count, Some(index + 1)));
            }
            before = Some(hash);
        }
        Ok((count, None))
    }

    /// Removes the runs that are older than some days. Returns their number.
    pub fn prune(&self, days: u32) -> Result<usize, String> {
        let age = jiff::SignedDuration::from_hours(24 * i64::from(days));
        let before = time_text(jiff::Timestamp::now().saturating_sub(age).unwrap_or_default());
        self.with(|it| it.execute("DELETE FROM audit_log WHERE timestamp < ?1", [&before]))
    }

    pub fn add_security_event(
        &self,
        event_type: &str,
        agent: &str,
        details: &str,
    ) -> Result<(), String> {
        let insert = "INSERT INTO security_events (timestamp, event_type, agent_name, details) \
                      VALUES (?, ?, ?, ?)";
        self.with(|it| it.execute(insert, [&now(), event_type, agent, details]).map(drop))
    }

    /// The refused prompts and answers, newest first.
    pub fn security_events(&self, limit: usize) -> Result<Vec<SecurityEvent>, String> {
        let select = "SELECT timestamp, event_type, agent_name, details FROM security_events \
                      ORDER BY id DESC LIMIT ?";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.with(|it| it.prepare(select)?.query_map([limit], SecurityEvent::read)?.collect())
    }

    pub fn add_pending(&self, calls: &[PendingCall]) -> Result<(), String> {
        let insert = "INSERT OR REPLACE INTO pending_approvals (run_id, tool_call_id, tool_name, \
                      agent_name, role_path, arguments_json, variables_json, created_at) \
                      VALUES (?,?,?,?,?,?,?,?)";
        self.with(|connection| {
            for call in calls {
                let path = call.role_path.display().to_string();
                let (arguments, variables) = (call.arguments.to_string(), json!(call.variables));
                let PendingCall { run_id, tool_call_id, tool_name, agent_name, .. } = call;
                let (variables, at) = (variables.to_string(), now());
                let ids = [run_id, tool_call_id, tool_name, agent_name];
                let rest = [&path, &arguments, &variables, &at];
                let values = params_from_iter(ids.into_iter().chain(rest));
                connection.execute(insert, values)?;
            }
            Ok(())
        })
    }

    /// The calls that wait, oldest first: of one run, or of all.
    pub fn pending(&self, run_id: Option<&str>, limit: usize) -> Result<Vec<PendingCall>, String> {
        let select = "SELECT run_id, tool_call_id, tool_name, agent_name, role_path, \
                      arguments_json, variables_json, created_at FROM pending_approvals WHERE resolved_at IS NULL \
                      AND (?1 IS NULL OR run_id = ?1) ORDER BY created_at, rowid LIMIT ?2";
        let call = |row: &Row<'_>| {
            let (arguments, variables): (String, String) = (row.get(5)?, row.get(6)?);
            Ok(PendingCall {
                run_id: row.get(0)?,
                tool_call_id: row.get(1)?,
                tool_name: row.get(2)?,
                agent_name: row.get(3)?,
                role_path: PathBuf::from(row.get::<_, String>(4)?),
                arguments: serde_json::from_str(&arguments).unwrap_or(Value::Null),
                variables: serde_json::from_str(&variables).unwrap_or_default(),
                created_at: row.get(7)?,
            })
        };
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.with(|connection| {
            connection.prepare(select)?.query_map(params![run_id, limit], call)?.collect()
        })
    }

    /// Marks a call as decided, so that no other process decides it too. Returns false if it was
    /// decided before.
    pub(crate) fn resolve(
        &self,
        call: &PendingCall,
        approves: bool,
        by: &str,
    ) -> Result<bool, String> {
        let update = "UPDATE pending_approvals SET resolved_at = ?1, resolved_by = ?2, \
                      decision = ?3 WHERE run_id = ?4 AND tool_call_id = ?5 \
                      AND resolved_at IS NULL";
        let decision = if approves { "approve" } else { "deny" };
        let values = params![now(), by, decision, call.run_id, call.tool_call_id];
        self.with(|it| it.execute(update, values)).map(|changed| changed == 1)
    }
}

/// A new ID of a run.
pub fn new_id() -> String {
    format!("{:012x}", fastrand::u64(..1 << 48))
}

/// The time in UTC, as the database has it.
pub(crate) fn now() -> String {
    time_text(jiff::Timestamp::now())
}

fn time_text(time: jiff::Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00").to_string()
}

fn optional(found: rusqlite::Result<String>) -> rusqlite::Result<String> {
    match found {
        Err(rusqlite::Error::QueryReturnedNoRows) => Ok(String::new()),
        found => found,
    }
}

fn sql_value(value: Option<&Value>) -> rusqlite::types::Value {
    use rusqlite::types::Value as Sql;
    match value {
        None | Some(Value::Null) => Sql::Null,
        Some(Value::String(text)) => Sql::Text(text.clone()),
        Some(Value::Number(number)) => number.as_i64().map_or(Sql::Null, Sql::Integer),
        Some(other) => Sql::Text(other.to_string()),
    }
}

fn record_of(row: &Row<'_>) -> rusqlite::Result<Record> {
    let names = COLUMNS.iter().chain(&["prev_hash", "record_hash"]);
    let value = |(index, name): (usize, &&str)| {
        let value = match row.get_ref(index)? {
            ValueRef::Integer(number) => number.into(),
            ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned().into(),
            ValueRef::Null | ValueRef::Real(_) | ValueRef::Blob(_) => Value::Null,
        };
        Ok(((*name).to_owned(), value))
    };
    names.enumerate().map(value).collect()
}

/// A record as JSON with sorted keys, without blanks, and with ASCII characters only.
fn ascii_json(record: &Record) -> String {
    let text = serde_json::to_string(record).unwrap_or_default();
    let mut units = [0; 2];
    text.chars().fold(String::with_capacity(text.len()), |mut ascii, c| {
        if c.is_ascii() {
            ascii.push(c);
        } else {
            let escapes = c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}"));
            ascii.extend(escapes);
        }
        ascii
    })
}

fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let text = text.trim();
    if text.is_empty() || !text.len().is_multiple_of(2) || !text.is_ascii() {
        return None;
    }
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok()).collect()
}

fn key_file(path: &Path) -> Result<Vec<u8>, String> {
    let failed = |why: String| format!("cannot use the key {}: {why}", path.display());
    let _lock = private::lock(path).map_err(|error| failed(error.to_string()))?;
    match private::read(path).map_err(|error| failed(error.to_string()))? {
        Some(bytes) if bytes.len() == KEY_BYTES => Ok(bytes),
        Some(bytes) => Err(failed(format!("it has {} bytes, not {KEY_BYTES}", bytes.len()))),
        None => {
            let mut bytes = vec![0; KEY_BYTES];
            SystemRandom::new().fill(&mut bytes).map_err(|error| failed(error.to_string()))?;
            private::replace(path, &bytes, Durability::Synced)
                .map_err(|error| failed(error.to_string()))?;
            Ok(bytes)
        }
    }
}

/// A session log that also records each turn as a run of a role.
pub struct AuditedRuns {
    inner: Arc<dyn Log>,
    store: AuditStore,
    scrub: Scrub,
    run_id: String,
    run: RunSource,
    turn: Mutex<Turn>,
}

/// The columns that all rows of a run share.
pub struct RunSource {
    /// A new one where there is none.
    pub run_id: Option<String>,
    pub agent: String,
    pub trigger_type: Option<&'static str>,
}

struct Turn {
    provider: String,
    model: String,
    prompt: String,
    output: String,
    calls: Vec<Value>,
    started: Instant,
}

impl AuditedRuns {
    pub fn new(inner: Arc<dyn Log>, (store, scrub): (AuditStore, Scrub), run: RunSource) -> Self {
        let turn = Turn {
            provider: String::new(),
            model: String::new(),
            prompt: String::new(),
            output: String::new(),
            calls: Vec::new(),
            started: Instant::now(),
        };
        let run_id = run.run_id.clone().unwrap_or_else(new_id);
        Self { inner, store, scrub, run_id, run, turn: Mutex::new(turn) }
    }

    /// Takes an event; records the run if it ends one.
    fn take(&self, event: &Event) -> Result<(), String> {
        let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        match &event.kind {
            EventKind::Configured { provider, model, .. } => {
                turn.provider.clone_from(provider);
                turn.model.clone_from(model);
            }
            EventKind::TurnStarted { prompt } => {
                turn.prompt.clone_from(prompt);
                turn.output.clear();
                turn.calls.clear();
                turn.started = Instant::now();
            }
            EventKind::ReplyFinished { reply, .. } => {
                let text = reply.text();
                if !text.is_empty() {
                    turn.output = text;
                }
            }
            EventKind::ToolFinished { name, output, .. } => {
                turn.calls.push(json!({"tool": name, "success": output.success}));
            }
            EventKind::TurnFinished { outcome, usage } => {
                let error = match outcome {
                    Outcome::Failed { error, .. } => Some(error.clone()),
                    Outcome::Blocked { reason, .. } => Some(reason.clone()),
                    Outcome::Limited { told, .. } => Some(told.clone()),
                    Outcome::Stuck { why } => Some(why.clone()),
                    Outcome::Cancelled => Some(String::from("cancelled")),
                    Outcome::Answered { .. } | Outcome::Finished(_) => None,
                };
                let text = |text: &str| Value::from((self.scrub)(text));
                let names: Vec<&Value> = turn.calls.iter().map(|call| &call["tool"]).collect();
                let elapsed = u64::try_from(turn.started.elapsed().as_millis()).unwrap_or(0);
                self.store.record_columns(json!({
                    "run_id": self.run_id,
                    "agent_name": self.run.agent,
                    "user_prompt": text(&turn.prompt),
                    "model": turn.model,
                    "provider": turn.provider,
                    "output": text(&turn.output),
                    "tokens_in": usage.input_tokens,
                    "tokens_out": usage.output_tokens,
                    "total_tokens": usage.input_tokens + usage.output_tokens,
                    "thinking_tokens": 0,
                    "reasoning_tokens": usage.reasoning_tokens.unwrap_or(0),
                    "tool_calls": turn.calls.len(),
                    "duration_ms": elapsed,
                    "success": u8::from(error.is_none()),
                    "error": error.as_deref().map(text),
                    "trigger_type": self.run.trigger_type,
                    "tool_names": json!(names).to_string(),
                    "event_timeline_json": json!(turn.calls).to_string(),
                }))?;
            }
            _ => {}
        }
        Ok(())
    }
}

impl Log for AuditedRuns {
    fn append(&self, events: &[Event]) -> Result<(), LogError> {
        self.inner.append(events)?;
        for event in events.iter().filter(|event| event.within.is_none()) {
            self.take(event).map_err(|what| LogError {
                path: String::from("of the role's audit"),
                source: std::io::Error::other(what),
            })?;
        }
        Ok(())
    }

    fn sync(&self) -> Result<(), LogError> {
        self.inner.sync()
    }
}

/// Runs as comma-separated values, with a header.
pub fn csv(records: &[Record]) -> Result<String, String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let names = COLUMNS.iter().chain(&["prev_hash", "record_hash"]);
    let names: Vec<&str> = names.copied().collect();
    let mut rows = vec![names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()];
    rows.extend(records.iter().map(|record| {
        let text = |name: &&str| match record.get(*name) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        };
        names.iter().map(text).collect()
    }));
    for row in rows {
        writer.write_record(row).map_err(|error| error.to_string())?;
    }
    let bytes = writer.into_inner().map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(prompt: &str) -> Record {
        let mut record: Record =
            COLUMNS.iter().map(|name| ((*name).to_owned(), Value::Null)).collect();
        record.insert("user_prompt".to_owned(), prompt.into());
        record.insert("success".to_owned(), 1.into());
        record
    }

    fn store(directory: &Path) -> AuditStore {
        AuditStore::open(directory, None, None).unwrap()
    }

    #[test]
    fn verify_finds_a_changed_or_removed_run() {
        let directory = tempfile::tempdir().unwrap();
        for prompt in ["one", "zwei ü", "three"] {
            store(directory.path()).record(&record(prompt)).unwrap();
        }
        let store = store(directory.path());
        assert_eq!(store.verify().unwrap(), (3, None));
        let run = |sql: &str| store.with(|it| it.execute(sql, []).map(drop)).unwrap();
        run("UPDATE audit_log SET user_prompt = '2' WHERE id = 2");
        assert_eq!(store.verify().unwrap(), (3, Some(2)));
        run("DELETE FROM audit_log WHERE id = 2");
        assert_eq!(store.verify().unwrap(), (2, Some(2)));
        run("DELETE FROM audit_log WHERE id = 1");
        assert_eq!(store.verify().unwrap(), (1, None));
    }

    #[test]
    fn hash_is_hmac_of_sorted_ascii_json() {
        let directory = tempfile::tempdir().unwrap();
        let store = AuditStore::open(directory.path(), None, Some("00ff")).unwrap();
        let record = Record::from([("b".into(), "ü😀".into()), ("a".into(), 1.into())]);
        assert_eq!(ascii_json(&record), r#"{"a":1,"b":"\u00fc\ud83d\ude00"}"#);
        // hmac.new(bytes.fromhex("00ff"), b'x{"a":1,"b":"\\u00fc\\ud83d\\ude00"}', "sha256")
        assert_eq!(
            store.hash("x", &record),
            "997828001ad0faf6953e65a36eac473e0a0b599ed0337bd650d988cfa5cb84a8"
        );
        assert!(AuditStore::open(directory.path(), None, Some("0g")).is_err());
    }

    #[test]
    fn pending_call_is_decided_once() {
        let directory = tempfile::tempdir().unwrap();
        let store = store(directory.path());
        let call = PendingCall {
            run_id: "r".into(),
            tool_call_id: "c".into(),
            tool_name: "t".into(),
            agent_name: "a".into(),
            role_path: "/x.yaml".into(),
            arguments: json!({"n": 1}),
            variables: BTreeMap::new(),
            created_at: String::new(),
        };
        store.add_pending(std::slice::from_ref(&call)).unwrap();
        assert_eq!(store.pending(Some("r"), 9).unwrap()[0].arguments, json!({"n": 1}));
        assert!(store.pending(Some("other"), 9).unwrap().is_empty());
        assert!(store.resolve(&call, true, "me").unwrap());
        assert!(!store.resolve(&call, false, "me").unwrap());
        assert!(store.pending(None, 9).unwrap().is_empty());
    }
}
