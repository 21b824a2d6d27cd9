#!/bin/sh
# Usage: merged.sh [FROM [TO]]
# Lists the changes after FROM up to TO, oldest first: hash, author, subject.
# FROM defaults to the latest tag before TO, or the whole history; TO to HEAD. Only reads.
set -eu

fail() {
    echo "merged.sh: $1" >&2
    exit 1
}

from=${1:-}
to=${2:-HEAD}

for name in "$from" "$to"; do
    case $name in
    -*) fail "not a version: $name" ;;
    esac
done

git rev-parse --git-dir >/dev/null 2>&1 || fail "this directory is not in a git repository"
git rev-parse --verify --quiet "$to^{commit}" >/dev/null || fail "no such version: $to"

if [ -z "$from" ]; then
    from=$(git describe --tags --abbrev=0 "$to^" 2>/dev/null) || from=
else
    git rev-parse --verify --quiet "$from^{commit}" >/dev/null || fail "no such version: $from"
fi

git log --no-merges --reverse --format='%h %an: %s' "${from:+$from..}$to" --
