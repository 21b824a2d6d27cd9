//! Names in a workspace that other programs run or obey when they find them. No tool and no
//! confined process writes them, at whatever spelling the file system would take for the same.

use crate::text::is_hidden;

/// The names, in lower case.
pub const NAMES: [&str; 28] = [
    ".git",
    ".brynhild",
    ".agent",
    ".agents",
    ".claude",
    ".codex",
    ".cursor",
    ".gemini",
    ".vscode",
    ".idea",
    ".mcp.json",
    ".envrc",
    ".gitmodules",
    ".gitconfig",
    ".ripgreprc",
    ".profile",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".inputrc",
];

/// The protected name that some file systems would take `name` for, if there is one.
pub fn protected(name: &str) -> Option<&'static str> {
    let seen: String = name.chars().filter(|&c| !is_hidden(c)).collect();
    let folded = seen.trim_end_matches(['.', ' ']).to_lowercase();
    let folded = match folded.split(':').next().unwrap_or_default() {
        // The short form that some file systems keep beside the name.
        "git~1" => ".git",
        other => other,
    };
    NAMES.into_iter().find(|&known| known == folded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_spellings_of_a_protected_name_are_protected() {
        for spelling in [".git", ".GIT", ".git.", ".git ", ".g\u{200b}it", "git~1", ".git::$DATA"] {
            assert_eq!(protected(spelling), Some(".git"), "{spelling:?}");
        }
        for other in ["git", ".gitignore", ".github", "a.git"] {
            assert_eq!(protected(other), None, "{other:?}");
        }
    }
}
