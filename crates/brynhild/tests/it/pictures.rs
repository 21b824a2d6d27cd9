//! The pictures of the documentation are screens of the program. `UPDATE=1` draws them anew; without
//! it their text is compared.

use std::path::Path;

use serde_json::json;
use testkit::picture::description;
use testkit::{ModelServer, Project, Reply, Terminal};

use crate::interactive::wait_for_end_of_turn;
use crate::project;

const SIZE: (u16, u16) = (92, 24);
const SPINNER: &str = "⠋⠙⠸⠴⠦⠧⠇⠏";

/// A project with a model of this server, and no other provider.
fn project_of(server: &ModelServer) -> Project {
    let project = project();
    let off = |name: &str| format!("    {name}: {{type: {name}, enabled: false}}\n");
    let off: String = ["ollama", "lmstudio", "vllm", "llamacpp"].map(off).concat();
    project.config(&format!(
        "providers:\n  default: openrouter\n  instances:\n    openrouter: {{type: openrouter, \
         base_url: {0}/v1, default_model: openai/gpt-5.1}}\n    lab: {{type: openai, base_url: \
         {0}/v1}}\n{off}",
        server.url()
    ));
    project.file("src/price.py", "def total(prices):\n    return sum(prices)\n");
    project
}

fn start(project: &Project, args: &[&str]) -> Terminal {
    let terminal = project.terminal(args, SIZE);
    terminal.wait_for("Ask anything");
    terminal
}

/// Compares the picture in the documentation with the screen, or draws it.
#[track_caller]
#[expect(clippy::disallowed_methods, reason = "a test takes its own switch")]
fn check(project: &Project, terminal: &Terminal, name: &str) {
    let directory = project.path().canonicalize().unwrap().display().to_string();
    let padded = format!("{:^1$}", "~/project", directory.len());
    let picture = terminal.picture(&[(&directory, &padded)]);
    let pictures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures");
    let file = pictures.join(format!("{name}.svg"));
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(&pictures).unwrap();
        std::fs::write(file, picture).unwrap();
        return;
    }
    let known = std::fs::read_to_string(file).unwrap_or_default();
    let [known, shown] = [known, picture].map(|svg| stable(&description(&svg)));
    assert_eq!(known, shown, "run `UPDATE=1 cargo test -p brynhild --test it pictures`");
}

/// The words of a screen, without times and the spinner.
fn stable(text: &str) -> String {
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_time = |at: usize| words.get(at + 1).is_some_and(|it| *it == "ms" || *it == "s");
        let is_unit = |at: usize| at > 0 && is_time(at - 1);
        let words = words
            .iter()
            .enumerate()
            .filter(|(at, word)| !is_time(*at) && !is_unit(*at) && !SPINNER.contains(**word));
        words.map(|(_, word)| *word).collect::<Vec<_>>().join(" ")
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn first_screen_picture_is_current() {
    let server = ModelServer::start([]);
    let project = project_of(&server);
    let terminal = start(&project, &[]);
    terminal.wait_for("sandboxed");
    check(&project, &terminal, "first-screen");
}

#[test]
fn question_picture_is_current() {
    let call = json!({"command": "cargo test --workspace"});
    let server = ModelServer::start([Reply::calls([("Bash", call)])]);
    let project = project_of(&server);
    let terminal = start(&project, &["--mode", "ask"]);
    terminal.send("Run the tests.\r");
    terminal.wait_for("Yes, once");
    check(&project, &terminal, "question");
}

#[test]
fn diff_picture_is_current() {
    let edit = json!({
        "file_path": "src/price.py",
        "old_string": "    return sum(prices)\n",
        "new_string": "    # Prices are in cents.\n    return sum(prices) / 100\n",
    });
    let replies = [
        Reply::calls([("Read", json!({"file_path": "src/price.py"})), ("Edit", edit)])
            .usage(1200, 40),
        Reply::text("`total` now returns **dollars**.").usage(4210, 96),
    ];
    let server = ModelServer::start(replies);
    let project = project_of(&server);
    let terminal = start(&project, &[]);
    terminal.send("Prices are in cents. Return dollars.\r");
    terminal.wait_for("now returns");
    wait_for_end_of_turn(&terminal);
    check(&project, &terminal, "diff");
}

#[test]
fn models_picture_is_current() {
    let model = |id: &str, context: u64, prices: [&str; 2], parameters: &[&str]| {
        json!({
            "id": id, "context_length": context, "supported_parameters": parameters,
            "pricing": {"prompt": prices[0], "completion": prices[1]},
        })
    };
    let models = json!({"data": [
        model("openai/gpt-5.1", 400_000, ["0.00000125", "0.00001"], &["tools", "reasoning"]),
        model("anthropic/claude-sonnet-4.5", 1_000_000, ["0.000003", "0.000015"], &["reasoning"]),
        model("qwen/qwen3-coder", 262_144, ["0", "0"], &["tools"]),
    ]});
    let server = ModelServer::start([]).models_reply(Reply::bytes(models.to_string()));
    let project = project_of(&server);
    let terminal = start(&project, &[]);
    terminal.send("/model\r");
    terminal.wait_for("Models (6)");
    check(&project, &terminal, "models");
}
