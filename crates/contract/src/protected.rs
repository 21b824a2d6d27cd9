//! Names that other programs run or obey: no tool and no confined process writes any spelling.

/// The names that are obeyed most, in lower case.
#[rustfmt::skip]
pub const FOREMOST: [&str; 29] = [
    ".git", ".brynhild", ".opencode", ".agent", ".agents", ".claude", ".codex", ".cursor",
    ".gemini", ".vscode", ".idea", ".mcp.json", ".envrc", ".gitmodules", ".gitconfig", ".ripgreprc",
    ".profile", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases",
    ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".inputrc",
];

/// The other names: further assistants, editors and shells.
#[rustfmt::skip]
pub const OTHERS: [&str; 52] = [
    "opencode.json", "opencode.jsonc", ".roo", ".aider.conf.yml", ".devcontainer", ".dir-locals.el",
    ".crush", ".hg", ".amazonq", ".augment", ".factory", ".lvimrc", ".nvimrc", ".tcshrc", ".logout",
    ".crush.json", ".dir-locals-2.el", ".continuerc.json", ".devcontainer.json", ".pam_environment",
    "crush.json", ".windsurf", ".roomodes", ".continue", ".openhands", ".nvim.lua", ".zsh_aliases",
    ".goose", ".jj", ".theia", ".lapce", ".cline", ".junie", ".fleet", ".helix", ".vimrc", ".cshrc",
    ".sl", ".vs", ".nova", ".kiro", ".qwen", ".trae", ".zed", ".exrc", ".login", ".mise", "mise.toml",
    ".vim", ".yarnrc", ".yarnrc.yml", ".pdbrc",
];

/// All of them.
pub fn names() -> impl Iterator<Item = &'static str> {
    FOREMOST.into_iter().chain(OTHERS)
}

/// The first part of `path` that some file systems would take for a protected name, or place.
pub fn protected(path: impl AsRef<std::path::Path>) -> Option<&'static str> {
    let mut above = String::new();
    path.as_ref().iter().find_map(|part| {
        let name = part.to_string_lossy().to_lowercase().replace(crate::text::is_hidden, "");
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
