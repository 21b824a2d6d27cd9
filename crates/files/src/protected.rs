//! Names of files that other programs run or obey. No tool and no confined process writes any
//! spelling of them.

/// The protected names, in lower case.
#[rustfmt::skip]
const NAMES: [&str; 81] = [
    ".git", ".brynhild", ".opencode", ".agent", ".agents", ".claude", ".codex", ".cursor",
    ".gemini", ".vscode", ".idea", ".mcp.json", ".envrc", ".gitmodules", ".gitconfig", ".ripgreprc",
    ".profile", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases",
    ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".inputrc",
    "opencode.json", "opencode.jsonc", ".roo", ".aider.conf.yml", ".devcontainer", ".dir-locals.el",
    ".crush", ".hg", ".amazonq", ".augment", ".factory", ".lvimrc", ".nvimrc", ".tcshrc", ".logout",
    ".crush.json", ".dir-locals-2.el", ".continuerc.json", ".devcontainer.json", ".pam_environment",
    "crush.json", ".windsurf", ".roomodes", ".continue", ".openhands", ".nvim.lua", ".zsh_aliases",
    ".goose", ".jj", ".theia", ".lapce", ".cline", ".junie", ".fleet", ".helix", ".vimrc", ".cshrc",
    ".sl", ".vs", ".nova", ".kiro", ".qwen", ".trae", ".zed", ".exrc", ".login", ".mise", "mise.toml",
    ".vim", ".yarnrc", ".yarnrc.yml", ".pdbrc",
];

/// All protected names.
pub fn names() -> impl Iterator<Item = &'static str> {
    NAMES.into_iter()
}

/// Returns the first protected name in `path`, in any spelling that some file system accepts.
pub fn protected(path: impl AsRef<std::path::Path>) -> Option<&'static str> {
    let mut above = String::new();
    path.as_ref().iter().find_map(|part| {
        let name = part.to_string_lossy().to_lowercase().replace(is_ignorable, "");
        let name = match name.trim_end_matches(['.', ' ']).split(':').next().unwrap_or_default() {
            // A short form that some file systems keep, and names of which there are several.
            "git~1" => ".git",
            it if it.starts_with(".envrc.") => ".envrc",
            it if it.trim_matches('.').starts_with("mise.") && it.ends_with("toml") => "mise.toml",
            "hooks" if above == ".github" => return Some(".github/hooks"),
            other => other,
        };
        name.clone_into(&mut above);
        names().find(|&known| known == name)
    })
}

/// Returns true for characters that some file system ignores in a name, or that a reader cannot see.
#[rustfmt::skip]
fn is_ignorable(c: char) -> bool {
    c.is_control() || matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' |
        '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' |
        '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0e}' | '\u{feff}' |
        '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' |
        '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_spellings_of_a_protected_name_are_protected() {
        for spelling in [".git", ".GIT", ".git.", ".git ", ".g\u{200b}it", "git~1", ".git::$DATA"] {
            assert_eq!(protected(spelling), Some(".git"), "{spelling:?}");
        }
        assert_eq!(protected("OpenCode.json"), Some("opencode.json"));
        assert_eq!(protected("a/.GitHub/hooks/b.json"), Some(".github/hooks"));
        assert_eq!(protected("a/b/.vscode/c"), Some(".vscode"));
        assert_eq!(protected(".envrc.local"), Some(".envrc"));
        assert_eq!(protected("a/.vim/coc-settings.json"), Some(".vim"));
        for name in [".yarnrc", ".yarnrc.yml", ".pdbrc"] {
            assert_eq!(protected(name), Some(name));
        }
        for spelling in ["mise.toml", ".mise.toml", "mise.local.toml", ".Mise.test.toml"] {
            assert_eq!(protected(spelling), Some("mise.toml"), "{spelling:?}");
        }
        let others = ["git", ".gitignore", ".github", "a.git", ".github/workflows/hooks", "hooks"];
        for other in others.into_iter().chain(["mise.md", "promise.toml"]) {
            assert_eq!(protected(other), None, "{other:?}");
        }
    }
}
