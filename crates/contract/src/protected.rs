//! Names in a workspace that other programs run or obey when they find them. No tool and no
//! confined process writes them, at whatever spelling the file system would take for the same.

use crate::text::is_hidden;

/// The names that are obeyed most, in lower case.
#[rustfmt::skip]
pub const FOREMOST: [&str; 29] = [
    ".git", ".brynhild", ".opencode", ".agent", ".agents", ".claude", ".codex", ".cursor",
    ".gemini", ".vscode", ".idea", ".mcp.json", ".envrc", ".gitmodules", ".gitconfig",
    ".ripgreprc", ".profile", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout",
    ".bash_aliases", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc",
    ".inputrc",
];

/// The other names: further assistants, editors and shells.
#[rustfmt::skip]
pub const OTHERS: [&str; 46] = [
    "opencode.json", "opencode.jsonc", ".crush", ".crush.json", "crush.json", ".goose", ".hg", ".jj",
    ".sl", ".vs", ".nova", ".theia", ".lapce", ".dir-locals-2.el",
    ".windsurf", ".roo", ".roomodes", ".continue", ".continuerc.json", ".cline", ".kiro",
    ".amazonq", ".qwen", ".augment", ".junie", ".trae", ".factory", ".openhands",
    ".aider.conf.yml", ".zed", ".fleet", ".helix", ".devcontainer", ".devcontainer.json", ".exrc",
    ".vimrc", ".lvimrc", ".nvimrc", ".nvim.lua", ".dir-locals.el", ".cshrc", ".tcshrc", ".login",
    ".logout", ".zsh_aliases", ".pam_environment",
];

/// All of them.
pub fn names() -> impl Iterator<Item = &'static str> {
    FOREMOST.into_iter().chain(OTHERS)
}

/// The protected name that some file systems would take `name` for, if there is one.
pub fn protected(name: &str) -> Option<&'static str> {
    let seen: String = name.chars().filter(|&c| !is_hidden(c)).collect();
    let folded = seen.trim_end_matches(['.', ' ']).to_lowercase();
    let folded = match folded.split(':').next().unwrap_or_default() {
        // The short form that some file systems keep beside the name.
        "git~1" => ".git",
        other => other,
    };
    names().find(|&known| known == folded)
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
        for other in ["git", ".gitignore", ".github", "a.git"] {
            assert_eq!(protected(other), None, "{other:?}");
        }
    }
}
