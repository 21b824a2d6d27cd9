#!/usr/bin/env bash
# A client for the conformance suite: `conformance client --command client.sh --scenario NAME`.
URL="${@: -1}"
B=${BRYNHILD:-brynhild}
export HOME=$(mktemp -d)
mkdir -p $HOME/p; cd $HOME/p
$B mcp add conf --url "$URL" --force >&2
ctx() { python3 -c "import os,json,sys;print(json.loads(os.environ.get('MCP_CONFORMANCE_CONTEXT') or '{}').get(sys.argv[1],''))" $1; }
ID=$(ctx client_id); export SECRET=$(ctx client_secret)
login() {
  : > page.txt
  $B mcp login conf ${ID:+--client-id "$ID"} ${SECRET:+--client-secret-env SECRET} $META > page.txt 2>login.err & L=$!
  for i in $(seq 300); do grep -q http page.txt && break; kill -0 $L 2>/dev/null || break; sleep 0.1; done
  curl -sL "$(head -1 page.txt)" >/dev/null
  wait $L || { cat login.err >&2; return 1; }
}
case "$MCP_CONFORMANCE_SCENARIO" in
  auth/client-credentials-jwt)
    ctx private_key_pem > key.pem
    $B mcp login conf --client-id "$ID" --private-key key.pem --client-credentials >&2 || exit 1 ;;
  auth/cross-app-access-*)
    export ID_TOKEN=$(ctx idp_id_token)
    $B mcp login conf --client-id "$ID" --client-secret-env SECRET --idp-issuer "$(ctx idp_issuer)" \
      --idp-client-id "$(ctx idp_client_id)" --idp-id-token-env ID_TOKEN >&2 || exit 1 ;;
  auth/client-credentials-*) $B mcp login conf --client-id "$ID" --client-secret-env SECRET --client-credentials >&2 || exit 1 ;;
  auth/basic-cimd) META="--client-metadata-url https://conformance-test.local/client-metadata.json"; login || exit 1 ;;
  auth/*) login || exit 1 ;;
esac
$B mcp test conf || exit 1
for t in $($B mcp list --json | python3 -c "import sys,json;print(*json.load(sys.stdin)['servers'][0]['tools'])"); do
  case $t in *add_numbers*) I='{"a":5,"b":3}';; *) I='{}';; esac
  for try in 1 2 3; do
    $B tools exec $t --input "$I" --yes > out.txt 2>&1; cat out.txt
    grep -q "wants further rights" out.txt || break
    [ $try = 3 ] || login || exit 1
  done
done
exit 0
