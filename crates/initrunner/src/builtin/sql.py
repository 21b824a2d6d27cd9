"""Runs one statement on one SQLite database. Reads what to do as JSON, prints what came of it."""

import json
import sqlite3
import sys
import time
import urllib.parse

READING = {
    "table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo", "foreign_key_list",
    "database_list", "collation_list", "compile_options", "encoding", "page_count", "page_size",
    "schema_version", "user_version", "application_id", "freelist_count", "quick_check", "integrity_check",
}
WIDEST = 40
FORBIDDEN_FUNCTIONS = {"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer"}


def referee(read_only):
    """Decides about each thing that a statement would do."""
    looking = {
        sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE,
        sqlite3.SQLITE_TRANSACTION, sqlite3.SQLITE_SAVEPOINT,
    }

    def judge(action, first, second, _database, _trigger):
        if action in (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH):
            return sqlite3.SQLITE_DENY
        if action == sqlite3.SQLITE_FUNCTION and str(second).lower() in FORBIDDEN_FUNCTIONS:
            return sqlite3.SQLITE_DENY
        if action == sqlite3.SQLITE_PRAGMA:
            return sqlite3.SQLITE_OK if str(first).lower() in READING else sqlite3.SQLITE_DENY
        if read_only and action not in looking:
            return sqlite3.SQLITE_DENY
        return sqlite3.SQLITE_OK

    return judge


def connected(database, read_only):
    if database == ":memory:":
        return sqlite3.connect(database)
    address = "file:" + urllib.parse.quote(database)
    if not read_only:
        return sqlite3.connect(address + "?mode=rwc", uri=True)
    connection = sqlite3.connect(address + "?mode=ro", uri=True)
    try:
        connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
        return connection
    except sqlite3.OperationalError:
        # A log beside the database cannot be opened where nothing can be written.
        return sqlite3.connect(address + "?mode=ro&immutable=1", uri=True)


def shown(value):
    if isinstance(value, bytes):
        return f"<{len(value)} bytes>"
    return str(value).replace("\n", "\\n")


def table(cursor, most_rows):
    names = [column[0] for column in cursor.description]
    rows = cursor.fetchmany(most_rows + 1)
    if not rows:
        return "No results"
    cells = [names] + [[shown(value) for value in row] for row in rows[:most_rows]]
    # One long value does not push all the others apart.
    widths = [min(max(len(line[column]) for line in cells), WIDEST) for column in range(len(names))]
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(line, widths)) for line in cells]
    lines.insert(1, "-+-".join("-" * width for width in widths))
    if len(rows) > most_rows:
        lines.append(f"[truncated: only the first {most_rows} rows are shown]")
    return "\n".join(lines)


def main():
    job = json.load(sys.stdin)
    end = time.monotonic() + job["seconds"]
    connection = connected(job["database"], job["read_only"])
    connection.set_progress_handler(lambda: time.monotonic() > end, 10000)
    connection.set_authorizer(referee(job["read_only"]))
    try:
        with connection:
            cursor = connection.execute(job["sql"])
            if cursor.description is None:
                count = max(cursor.rowcount, 0)
                return f"OK ({count} rows affected)"
            return table(cursor, job["rows"])
    except sqlite3.OperationalError as error:
        if str(error) == "interrupted":
            sys.exit(124)
        raise


try:
    sys.stdout.reconfigure(encoding="utf-8", errors="replace")
    print(main())
except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError) as error:
    text = str(error)
    if text in ("not authorized", "authorization denied") or text.startswith("access to "):
        text += " (the database is read-only, and no statement reaches another file)"
    sys.exit(f"SQL error: {text}")
