#!/usr/bin/env bash
# Drives `brynhild acp` with acpx. Arguments: the program, the project, an MCP server, an address of one.
set -euo pipefail
program=$1 project=$2 server=$3 address=$4
cd "$project"
export PATH="$ACP_CLIENTS/node_modules/.bin:$PATH"
# The last process of the agent can be killed by its ID.
cat >agent.sh <<SH
#!/bin/sh
echo \$\$ >agent.pid
exec "$program" --mode ask acp
SH
chmod +x agent.sh
ask() { acpx --agent "$PWD/agent.sh" --ttl 5 --format json "$@"; }
said() { grep -q "$1" <<<"$output" || { echo "no $1 in: $output" >&2; exit 1; }; }
ok() { echo "ok $*"; }

output=$(ask --deny-all exec "hello")
said '"stopReason":"end_turn"'
said 'available_commands_update'
ok "new, prompt, commands"
# Its exit code says that a permission was denied.
output=$(ask --deny-all exec "write") || [ $? = 5 ]
said 'session/request_permission'
[ ! -e made.txt ]
ok "permission deny"
output=$(ask --non-interactive-permissions fail exec "write") || [ $? = 5 ]
said '"outcome":"cancelled"'
said '"stopReason":"cancelled"'
[ ! -e made.txt ]
ok "permission cancel"
output=$(ask --approve-all exec "write")
said '"status":"completed"'
[ -e made.txt ]
ok "permission allow"
output=$(ask --approve-all exec --config-option mode=normal "hello")
said 'session/set_config_option'
ok "set_config_option before a prompt"
cat >servers.json <<JSON
{"mcpServers": [
  {"name": "theirs", "command": "python3", "args": ["$server"], "env": []},
  {"type": "http", "name": "web", "url": "$address", "headers": []}
]}
JSON
for which in stdio web; do
    output=$(ask --approve-all --mcp-config servers.json exec "use $which server")
    said '"status":"completed"'
    ok "$which MCP server"
done
output=$(ask sessions new)
ok "session new"
output=$(ask --approve-all prompt "hello")
said '"stopReason":"end_turn"'
ok "prompt in a kept session"
kill -9 "$(cat agent.pid)"
output=$(ask --approve-all prompt "hello again")
said '"method":"session/\(load\|resume\)"'
said '"stopReason":"end_turn"'
ok "resume after kill -9"
output=$(ask set-mode normal)
ok "set-mode"
output=$(ask set mode ask)
ok "set"
ask --approve-all prompt "sleep" >sleeping.log 2>&1 &
sleeping=$!
until grep -q begun sleeping.log; do sleep 0.05; done
ask cancel >/dev/null
wait "$sleeping" || true
grep -q '"stopReason":"cancelled"' sleeping.log
ok "cancel in a tool"
output=$(ask sessions list)
said 'nextCursor'
cursor=$(sed -n 's/.*"nextCursor":"\([^"]*\)".*/\1/p' <<<"$output" | head -1)
output=$(ask sessions list --cursor "$cursor")
ok "list with cursor"
output=$(ask sessions close)
ok "close"
ask sessions new --name again --resume-session first >/dev/null
output=$(ask --approve-all prompt --session again "hello")
said '"sessionId":"first"'
said '"stopReason":"end_turn"'
ok "resume by ID"
echo finished
