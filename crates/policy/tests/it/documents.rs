//! A quoted here-document that a bare `cat` reads, in double quotes, is a literal word.

use contract::policy::{Decision, Mode};
use policy::rules::Scope;
use policy::{Settings, policy};
use serde_json::json;

use crate::setting::{bare, rules, run};

#[test]
fn a_message_in_a_here_document_is_a_word_like_any_other() {
    let rules = rules(&json!({ "allow": ["Bash(git commit:*)", "Bash(git add:*)"] }), Scope::User);
    let judge = policy(Settings { rules, ..bare() });
    let decide = |text: &str| run(&judge, text, Mode::Normal).decision;
    for text in [
        "git commit -m \"$(cat <<'EOF'\nfix: x\n\nBecause of y; rm -rf z\nEOF\n)\"",
        "git add -A && git commit -qm \"$(cat <<'EOF'\nfix(x): it's y\n\nEOF\n)\"",
        "git commit -m 'a' -m \"$(cat << 'MSG'\nb `c` $d \"e\"\nMSG\n  )\" && git status",
        "git commit --message=\"$(cat <<'EOF'\nx\nEOF\n)\"",
    ] {
        assert_eq!(decide(text), Decision::Allow, "{text}");
    }
    for text in [
        "git commit -m \"$(cat <<EOF\nx $(touch y)\nEOF\n)\"",
        "git commit -m \"$(cat <<'EOF'\nx\nEOF\ntouch y\n)\"",
        "git commit -m \"$(cat <<'EOF' | sh\ntouch y\nEOF\n)\"",
        "git commit -m \"$(cat <<'EOF'; touch y\nx\nEOF\n)\"",
        "git commit -m \"$(cat <<'EOF'\nx\nEOF\n)$(touch y)\"",
        "git commit -m \"$(cat <<'EOF'\nx\nEOF\n)\"; touch y",
        "git commit -m \"$(cat <<'EOF'\nx\nEOF \n)\"",
        "git commit -m \"$(cat <<'EOF'\nx\n)\"",
        "git commit -m \"$(cat x <<'EOF'\nx\nEOF\n)\"",
        "git commit -m $(cat <<'EOF'\nx\nEOF\n)",
        "git commit -m 'a \"$(cat <<'EOF'\nx' && touch y\nEOF\n)\"",
        "git commit -m \"a\\\"$(cat <<'EOF'\nx\nEOF\n)\"",
        "git commit # \"$(cat <<'EOF'\ntouch y\nEOF\n)\"",
        "git commit -F - <<'A' && git commit -m \"$(cat <<'EOF'\nx\nA\ntouch y\nEOF\n)\"",
        "git commit -m \"$(cat <<'EOF'\n) \" ; touch y ; \"\nEOF\n)\"",
        "git push -m \"$(cat <<'EOF'\nx\nEOF\n)\"",
        "$(git) commit -m \"$(cat <<'EOF'\nx\nEOF\n)\"",
    ] {
        assert_ne!(decide(text), Decision::Allow, "{text}");
    }
}

#[test]
fn lines_are_joined_in_a_document_before_all_else() {
    let rules = rules(&json!({ "deny": ["Bash(curl:*)"] }), Scope::User);
    let judge = policy(Settings { rules, ..bare() });
    for text in [
        "cat <<E\n$(cu'\\\n'rl x)\nE",
        "cat <<E\n$(cu\\\nrl x)\nE",
        "cat <<-E\n\t`cu'\\\n'rl x`\n\tE",
    ] {
        assert_eq!(run(&judge, text, Mode::Yolo).decision, Decision::Deny, "{text}");
    }
}
