#!/bin/sh
# The call comes in as JSON; a command that names both is refused.
input=$(cat)
case $input in
*rm*NOTES.md*)
    echo "NOTES.md is kept: take a note back with a line of its own" >&2
    exit 2
    ;;
esac
