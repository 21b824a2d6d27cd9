#!/bin/sh
# The call comes in as JSON. Commands that change NOTES.md, a Write over it, and an Edit that only
# deletes are refused; notes are added with Edit.
input=$(cat | tr -d ' \n')
refuse() {
    echo "NOTES.md is kept: add a line with Edit instead" >&2
    exit 2
}
case $input in
*'"tool_name":"Bash"'*NOTES.md*)
    case $input in
    *rm* | *mv* | *truncate* | *sed* | *tee* | *'>'* | *unlink* | *checkout*) refuse ;;
    esac
    ;;
*'"tool_name":"Write"'*) case $input in *'"file_path":"'*'NOTES.md"'*) refuse ;; esac ;;
*'"tool_name":"Edit"'*'NOTES.md"'*) case $input in *'"new_string":""'*) refuse ;; esac ;;
esac
