//! The documents of roles: ingestion of files and pages, and the search in them.

use std::process::Command;

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply};

use super::builtin::{exec, failure, output};
use super::{Answer, Seen, Server};
use crate::{project, project_with};

fn role(ingest: &Value) -> String {
    json!({"name": "reader", "prompt": "You read.", "ingest": ingest}).to_string()
}

fn ingest(project: &Project, flags: &[&str]) -> String {
    let run = project.brynhild(&[&["ingest", "role.yaml"], flags].concat());
    run.success().stdout.clone()
}

fn search(project: &Project, query: &str) -> String {
    output(project, "search_documents", &json!({"query": query}))
}

#[test]
fn changed_files_are_read_again_and_deleted_purged() {
    let project = project();
    project
        .file("role.yaml", role(&json!({"sources": ["docs/**/*.*", "notes.txt"]})))
        .file("docs/deep/guide.md", "# Guide\n\nThe zebra sleeps at noon.")
        .file("docs/node_modules/x.md", "zebra")
        .file("docs/.hidden/x.md", "zebra")
        .file("docs/t.csv", "animal,legs\nostrich,2\n")
        .file("docs/page.html", "<html><body><p>A <b>walrus</b> swims.</p></body></html>")
        .file("docs/photo.png", "PNG")
        .file("notes.txt", "The heron stands.");
    let run = project.brynhild(&["validate", "role.yaml"]);
    assert_eq!(run.success().stderr, "", "{run}");
    let none = "No documents have been ingested yet. Run 'brynhild ingest' first.";
    assert_eq!(search(&project, "zebra"), none);
    assert_eq!(
        ingest(&project, &[]),
        "Ingesting for reader... (5 files, 0 URLs)\nDone. 4 chunks stored. New: 4 | Updated: 0 | \
         Skipped: 0 | Errors: 1\n  docs/photo.png: Unsupported file type: .png\n"
    );
    assert_eq!(
        search(&project, "zebras"),
        "[Source: docs/deep/guide.md | Score: 1.000]\n# Guide\n\nThe zebra sleeps at noon."
    );
    assert!(search(&project, "ostrich").ends_with("animal, legs\nostrich, 2"));
    assert!(search(&project, "walrus").ends_with("A **walrus** swims."));
    let named = json!({"query": "the", "source": "docs/**/*.md", "strategy": "vector"});
    let found = output(&project, "search_documents", &named);
    assert!(found.contains("zebra") && !found.contains("heron"), "{found}");
    assert_eq!(search(&project, "giraffe"), "No relevant documents found.");
    project.file("notes.txt", "The giraffe runs.");
    std::fs::remove_file(project.path().join("docs/deep/guide.md")).unwrap();
    let said = ingest(&project, &[]);
    assert!(said.contains("New: 0 | Updated: 1 | Skipped: 2 | Errors: 1"), "{said}");
    assert!(search(&project, "giraffe").ends_with("The giraffe runs."));
    assert_eq!(search(&project, "zebra heron"), "No relevant documents found.");
    let said = ingest(&project, &["--force"]);
    assert!(said.contains("New: 0 | Updated: 3 | Skipped: 0 | Errors: 1"), "{said}");
    let said = failure(&project, "search_documents", &json!({"query": "the", "source": "[x"}));
    assert!(said.starts_with("Error: source is not a glob"), "{said}");
}

#[test]
fn text_of_pdf_files_is_found() {
    let project = project();
    project
        .file("role.yaml", role(&json!({"sources": ["*.pdf"]})))
        // Made with fpdf2: two pages in a standard font.
        .file("harbor.pdf", include_bytes!("harbor.pdf"))
        .file("odd.pdf", "%PDF-1.7");
    let said = ingest(&project, &[]);
    assert!(said.contains("New: 1 | Updated: 0 | Skipped: 0 | Errors: 1"), "{said}");
    assert!(said.contains("odd.pdf: could not open PDF: "), "{said}");
    let found = search(&project, "café");
    assert!(found.contains("The harbor shop opens at nine.\nIt closes at six: café"), "{found}");
    assert!(found.ends_with("Second page: prices in euro."), "{found}");
}

/// Writes `greedy.pdf`, a small file with a page of 400 MB.
const GREEDY: &str = r#"
import zlib
packer = zlib.compressobj()
page = b"".join(packer.compress(b" " * 1000000) for _ in range(400)) + packer.flush()
stream = b"<</Length %d/Filter/FlateDecode>>stream\n%s\nendstream" % (len(page), page)
pdf, places = b"%PDF-1.4\n", []
for index, text in enumerate([b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
                              b"<</Type/Page/Parent 2 0 R/Contents 4 0 R>>", stream]):
    places.append(b"%010d 00000 n \n" % len(pdf))
    pdf += b"%d 0 obj\n%s\nendobj\n" % (index + 1, text)
table = b"xref\n0 5\n0000000000 65535 f \n%strailer<</Size 5/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF"
open("greedy.pdf", "wb").write(pdf + table % (b"".join(places), len(pdf)))
"#;

#[test]
#[expect(clippy::disallowed_methods, reason = "Python writes the file that is read")]
fn document_that_wants_much_memory_is_an_error() {
    let project = project();
    project
        .file("role.yaml", role(&json!({"sources": ["*.pdf"]})))
        .file("harbor.pdf", include_bytes!("harbor.pdf"));
    let python = Command::new("python3").args(["-c", GREEDY]).current_dir(project.path()).status();
    assert!(python.unwrap().success());
    let said = ingest(&project, &[]);
    assert!(said.contains("New: 1 | Updated: 0 | Skipped: 0 | Errors: 1"), "{said}");
    assert!(said.contains("greedy.pdf: its text cannot be extracted: the reader "), "{said}");
    assert!(search(&project, "café").contains("harbor"));
}

#[test]
fn run_reads_new_documents_before_the_prompt() {
    let model = ModelServer::start([
        Reply::calls([("search_documents", json!({"query": "launch code"}))]),
        Reply::text("Found."),
        Reply::text("Not read."),
    ]);
    let project = project_with(&model);
    project.file("role.yaml", role(&json!({"sources": ["*.md"]}))).file("a.md", "launch code 7");
    project.brynhild(&["run", "role.yaml", "-p", "look"]).success();
    let found =
        model.chats()[1].body["messages"].as_array().unwrap().last().unwrap()["content"].clone();
    assert_eq!(found, "[Source: a.md | Score: 1.000]\nlaunch code 7");
    project.file("role.yaml", role(&json!({"sources": ["*.md"], "auto": false})));
    project.file("a.md", "changed");
    project.brynhild(&["run", "role.yaml", "-p", "look"]).success();
    assert!(search(&project, "launch").ends_with("launch code 7"));
}

#[test]
fn pages_are_fetched_and_read_again_if_they_changed() {
    let server = Server::start(|_| {
        let kind = ("Content-Type", String::from("text/html"));
        (200, vec![kind], String::from("<html><p>Otters hold hands.</p></html>"))
    });
    let model = ModelServer::start([Reply::text("Hello.")]);
    let project = project_with(&model);
    let url = format!("{}/a", server.url());
    project.file("role.yaml", role(&json!({"sources": [url]})));
    let said = ingest(&project, &[]);
    assert!(said.contains("Errors: 1\n") && said.contains("SSRF blocked"), "{said}");
    project.config_more("api: {allow_private: [127.0.0.1]}\n");
    let run = project.brynhild(&["run", "role.yaml", "-p", "hi"]);
    let wanted = "connects to 127.0.0.1; `brynhild ingest` fetches it";
    assert!(run.success().stderr.contains(wanted), "{run}");
    assert_eq!(server.seen().len(), 0);
    let said = ingest(&project, &[]);
    let wanted = "Ingesting for reader... (0 files, 1 URLs)\nDone. 1 chunks stored. New: 1 |";
    assert!(said.starts_with(wanted), "{said}");
    let found = output(&project, "search_documents", &json!({"query": "otter", "source": url}));
    assert_eq!(found, format!("[Source: {url} | Score: 1.000]\nOtters hold hands."));
    assert!(ingest(&project, &[]).contains("Skipped: 1"));
    assert!(ingest(&project, &["--force"]).contains("Updated: 1"));
    assert_eq!(server.seen().len(), 3);
}

/// Answers requests for embeddings: a text has a one for each of two words that it has.
pub(super) fn embeddings(seen: &Seen) -> Answer {
    let request: Value = serde_json::from_str(seen.body()).unwrap();
    let vector = |text: &Value| {
        let has = |word| f64::from(u8::from(text.as_str().unwrap().contains(word)));
        json!([has("bird") + has("heron"), has("fish"), 0.1])
    };
    let texts = request["input"].as_array().unwrap().iter().enumerate();
    let data: Vec<Value> =
        texts.map(|(index, text)| json!({"index": index, "embedding": vector(text)})).collect();
    (200, Vec::new(), json!({"data": data}).to_string())
}

#[test]
fn embeddings_find_documents_by_meaning() {
    let server = Server::start(embeddings);
    let project = project().env("EMBEDDING_KEY", "s3cret");
    project
        .config("api: {allow_private: [127.0.0.1]}\n")
        .file("a.md", "heron")
        .file("b.md", "fish");
    let settings = |model: &str, key: &str| {
        let embeddings = json!({"base_url": server.url(), "model": model, "api_key_env": key});
        role(&json!({"sources": ["*.md"], "embeddings": embeddings}))
    };
    project.file("role.yaml", settings("small", "EMBEDDING_KEY"));
    assert!(ingest(&project, &[]).contains("New: 2 |"));
    let seen = server.seen();
    assert_eq!(seen[0].line, "POST /embeddings");
    assert_eq!(seen[0].header("authorization"), Some("Bearer s3cret"));
    let body: Value = serde_json::from_str(seen[0].body()).unwrap();
    assert_eq!(body, json!({"model": "small", "input": ["heron"]}));
    let found = search(&project, "bird");
    assert!(found.starts_with("[Source: a.md | Score: 1.000]\nheron\n\n---\n\n"), "{found}");
    let query = json!({"query": "bird or fish", "strategy": "hybrid", "top_k": 1});
    let found = output(&project, "search_documents", &query);
    assert_eq!(found, "[Source: b.md | Score: 1.000]\nfish");
    let said = failure(&project, "search_documents", &json!({"query": "x", "strategy": "odd"}));
    assert!(said.starts_with("Error: strategy: it is none of `vector`"), "{said}");
    project.file("role.yaml", settings("large", "EMBEDDING_KEY"));
    let wanted = "the documents have vectors of small, and the role names large. Run 'brynhild ingest \
                  --force'.";
    assert!(failure(&project, "search_documents", &json!({"query": "x"})).contains(wanted));
    let run = project.brynhild(&["ingest", "role.yaml"]);
    assert!(run.code(1).stderr.contains(wanted), "{run}");
    assert!(ingest(&project, &["--force"]).contains("New: 2 |"));
    assert!(search(&project, "bird").contains("heron"));
    project.file("role.yaml", settings("large", "UNSET_KEY"));
    let run = exec(&project, "search_documents", &json!({"query": "heron"}), &["--yes"]);
    let wanted = "documents are searched by words: no embeddings: UNSET_KEY is not set";
    assert!(run.success().stderr.contains(wanted), "{run}");
    assert!(run.stdout.contains("heron") && !run.stdout.contains("fish"), "{run}");
}

#[test]
fn failed_embeddings_are_reported_and_change_nothing() {
    let server = Server::start(|_| (500, Vec::new(), String::from("out of order")));
    let model = ModelServer::start([Reply::text("Hello.")]);
    let project = project_with(&model);
    project.config_more("api: {allow_private: [127.0.0.1]}\n").file("a.md", "heron");
    project.file("role.yaml", role(&json!({"sources": ["*.md"]})));
    ingest(&project, &[]);
    let settings = json!({"base_url": server.url(), "model": "m"});
    project.file("role.yaml", role(&json!({"sources": ["*.md"], "embeddings": settings})));
    let run = project.brynhild(&["ingest", "role.yaml", "--force"]);
    let wanted = "embeddings from 127.0.0.1: HTTP 500: out of order";
    assert!(run.code(1).stderr.contains(wanted), "{run}");
    let run = project.brynhild(&["run", "role.yaml", "-p", "hi"]);
    let wanted = "warning: the role's documents are not complete: nothing was read: the documents \
                  have vectors of no model, and the role names m. Run 'brynhild ingest --force'.";
    assert!(run.success().stderr.contains(wanted), "{run}");
    project.config_more("permissions: {deny: ['Host(127.0.0.1)']}\n");
    let run = exec(&project, "search_documents", &json!({"query": "heron"}), &["--yes"]);
    assert!(run.success().stderr.contains("documents are searched by words: no embed"), "{run}");
    assert!(run.stdout.contains("Source: a.md"), "{run}");
}

#[test]
fn scraped_pages_are_stored() {
    let server = Server::start(|seen| match seen.line.as_str() {
        "GET /empty" => (200, Vec::new(), String::new()),
        _ => (200, Vec::new(), String::from("<html><p>Otters hold hands.</p></html>")),
    });
    let project = project();
    project.config("api: {allow_private: [127.0.0.1]}\n");
    let role = json!({"name": "r", "prompt": "x", "ingest": {}, "tools": ["web_scraper"]});
    project.file("role.yaml", role.to_string());
    let run = project.brynhild(&["validate", "role.yaml"]);
    assert_eq!(run.success().stderr, "", "{run}");
    let url = format!("{}/b", server.url());
    let said = output(&project, "scrape_page", &json!({"url": url}));
    assert_eq!(said, format!("Stored 1 chunks from {url} (18 chars)"));
    let found = search(&project, "otter");
    assert_eq!(found, format!("[Source: {url} | Score: 1.000]\nOtters hold hands."));
    let url = format!("{}/empty", server.url());
    let said = output(&project, "scrape_page", &json!({"url": url}));
    assert_eq!(said, format!("No content extracted from {url}"));
}

/// Writes archives as office programs do: a deflated document, and a workbook with stored parts.
const OFFICE: &str = r#"
import zipfile
with zipfile.ZipFile("letter.docx", "w", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr("word/document.xml", """<?xml version="1.0"?><w:document><w:body>
        <w:p><w:pPr><w:tabs><w:tab/></w:tabs></w:pPr><w:r><w:t>Dear </w:t></w:r><w:r><w:t>R&amp;D,</w:t></w:r></w:p>
        <w:p/><w:p><w:r><w:t>the pelican</w:t><w:tab/><w:t>landed.</w:t></w:r></w:p></w:body></w:document>""")
with zipfile.ZipFile("prices.xlsx", "w") as archive:
    archive.writestr("xl/workbook.xml", '<workbook><sheets><sheet name="Birds" r:id="rId1"/></sheets></workbook>')
    archive.writestr("xl/_rels/workbook.xml.rels",
        '<Relationships><Relationship Id="rId1" Target="worksheets/sheet1.xml"/></Relationships>')
    archive.writestr("xl/sharedStrings.xml", '<sst><si><t>bird</t></si><si><r><t>toucan, </t></r><r><t>big</t></r></si></sst>')
    archive.writestr("xl/worksheets/sheet1.xml", """<worksheet><sheetData>
        <row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" t="inlineStr"><is><t>price</t></is></c></row>
        <row r="2"/><row r="3"><c r="A3" t="s"><v>1</v></c><c r="B3"/><c r="C3"><f>1+1</f><v>2.5</v></c></row>
        </sheetData></worksheet>""")
open("broken.docx", "w").write("PK")
"#;

#[test]
#[expect(clippy::disallowed_methods, reason = "Python writes the files that are read")]
fn office_files_are_read() {
    let project = project();
    let made = Command::new("python3").args(["-c", OFFICE]).current_dir(project.path()).status();
    assert!(made.unwrap().success());
    project.file("role.yaml", role(&json!({"sources": ["*.docx", "*.xlsx"]})));
    let said = ingest(&project, &[]);
    assert!(said.contains("New: 2 |"), "{said}");
    assert!(said.ends_with("Errors: 1\n  broken.docx: this is not a ZIP archive\n"), "{said}");
    let found = search(&project, "pelican");
    assert!(found.ends_with("]\nDear R&D,\n\nthe pelican\tlanded."), "{found}");
    let found = search(&project, "toucan");
    assert!(found.ends_with("]\n# Birds\nbird,,price\n\"toucan, big\",,2.5"), "{found}");
}

#[test]
fn role_outside_of_the_project_reads_files_beside_it() {
    let model = ModelServer::start([Reply::text("Hello."), Reply::text("Hello.")]);
    let project = project_with(&model);
    let role_file = project.home().join("roles/role.yaml");
    let sources = json!(["docs/*", "../other.md"]);
    for (path, text) in [
        ("roles/role.yaml", role(&json!({"sources": sources}))),
        ("roles/docs/a.md", String::from("albatross")),
        ("roles/docs/id_rsa.txt", String::from("x")),
        ("other.md", String::from("kiwi")),
    ] {
        project.file(project.home().join(path), text);
    }
    let path = role_file.to_str().unwrap();
    let run = project.brynhild(&["ingest", path]);
    let said = &run.success().stdout;
    assert!(said.contains("New: 1 |"), "{said}");
    for wanted in [
        "other.md: in your home directory, outside the workspace; `--yes` reads it\n",
        "docs/id_rsa.txt: outside the workspace, and may hold a secret; `--yes` reads it\n",
    ] {
        assert!(said.contains(wanted), "{said}");
    }
    let run = project.brynhild(&["run", path, "-p", "hi"]);
    assert!(
        run.success().stderr.contains("warning: the role's documents are not complete: "),
        "{run}"
    );
    let run = project.brynhild(&["ingest", path, "--yes"]);
    assert!(run.success().stdout.contains("New: 2 | Updated: 0 | Skipped: 1"), "{run}");
}

#[test]
fn file_rules_apply_to_documents() {
    let project = project();
    project
        .file("role.yaml", role(&json!({"sources": ["secret/*.md", "/etc/hostname.txt"]})))
        .file("secret/a.md", "ostrich");
    assert!(ingest(&project, &[]).contains("New: 1 |"));
    project.config("permissions: {deny: ['Read(secret/**)']}\n");
    let said = ingest(&project, &[]);
    assert!(said.contains("Done. 0 chunks stored.") && said.contains("secret/a.md: "), "{said}");
    let none = "No documents have been ingested yet. Run 'brynhild ingest' first.";
    assert_eq!(search(&project, "ostrich"), none);
}

#[test]
fn wrong_ingest_settings_are_reported() {
    let project = project();
    for (value, wanted) in [
        (
            json!({"chunking": {"chunk_size": 10, "chunk_overlap": 10}}),
            "chunk_overlap (10) must be less than chunk_size (10)",
        ),
        (json!({"chunking": {"strategy": "odd"}}), "it is neither `fixed` nor `paragraph`"),
        (json!({"sources": "a"}), "ingest.sources: it is not a list"),
        (json!({"sources": ["docs/[x"]}), "ingest.sources: \"docs/[x\" is not a glob: "),
    ] {
        project.file("role.yaml", role(&value));
        let run = project.brynhild(&["validate", "role.yaml"]);
        assert!(run.code(1).stderr.contains(wanted), "{run}");
    }
    project.file("role.yaml", role(&json!({"sources": ["none/*.md"]})));
    let wanted =
        "Ingesting for reader... (0 files, 0 URLs)\nNo files or URLs matched source patterns.\n";
    assert_eq!(ingest(&project, &[]), wanted);
    project.file("role.yaml", json!({"name": "bare", "prompt": "x"}).to_string());
    let run = project.brynhild(&["ingest", "role.yaml"]);
    assert!(run.code(1).stderr.contains("No ingest config in role definition."), "{run}");
}
