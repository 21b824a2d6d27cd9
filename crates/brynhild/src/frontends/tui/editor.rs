//! The user's editor, on the terminal that the interface has given back.

use std::path::Path;

use assemble::exit::Problem;
use assemble::run_context::RunContext;
use files::private;

pub(super) async fn edit(run: &RunContext, text: &str) -> Result<String, Problem> {
    let environment = &run.environment;
    let editor = environment.variable("VISUAL").or_else(|| environment.variable("EDITOR"));
    let Some(editor) = editor else {
        return Err(Problem::misuse("no editor is set: set the EDITOR environment variable"));
    };
    let mut words = editor.split_whitespace().map(str::to_owned);
    let program = words.next().unwrap_or_default();
    let name = format!("brynhild-{}-{}.md", environment.user(), std::process::id());
    let path = environment.temp.join(name);
    private::replace(&path, text.as_bytes(), private::Durability::Synced)?;
    let args: Vec<String> = words.chain([path.display().to_string()]).collect();
    let (cwd, file) = (environment.cwd.clone(), path.clone());
    let ended = tokio::task::spawn_blocking(move || sandbox::foreground(&program, &args, &cwd));
    let result = match ended.await {
        Ok(Ok(true)) => read_back(&file),
        Ok(Ok(false)) => Err(Problem::failed("the editor failed; the text is unchanged")),
        Ok(Err(error)) => Err(Problem::failed(format!("cannot start `{editor}`: {error}"))),
        Err(error) => Err(Problem::failed(error.to_string())),
    };
    // Its content was read or is not wanted.
    let _ = std::fs::remove_file(&path);
    result
}

fn read_back(path: &Path) -> Result<String, Problem> {
    let bytes = private::read(path)?.unwrap_or_default();
    String::from_utf8(bytes).map_err(|_| Problem::failed("the text is not UTF-8 and was not used"))
}
