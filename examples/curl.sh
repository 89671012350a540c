#!/bin/sh
# Both eras of the protocol, spoken by hand with curl.
#
#   examples/curl.sh [URL]        default: http://127.0.0.1:8080/servers/demo/mcp
#
# It prints what it sends (>) and what comes back (<). It is no client: for that, see python_client.py.
# Its one rule: it ends with an error as soon as one request does not get the answer it should.
set -eu

url=${1:-http://127.0.0.1:8080/servers/demo/mcp}
heads=$(mktemp)
trap 'rm -f "$heads"' EXIT

# post BODY [HEADER...]: one message. The headers of the answer are kept in $heads, where the session id is.
post() {
    body=$1
    shift
    for header in "$@"; do
        set -- "$@" -H "$header"
        shift
    done
    printf '> %s\n' "$body"
    answer=$(curl -sS --fail-with-body --max-time 30 -D "$heads" "$url" "$@" \
        -H 'Content-Type: application/json' \
        -H 'Accept: application/json, text/event-stream' \
        --data "$body")
    printf '< %s\n' "$answer"
    case $answer in
        *'"error"'*) return 1 ;;
    esac
}

echo "--- 2026-07-28: one request says everything about itself"

post '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"},
"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}' \
    'MCP-Protocol-Version: 2026-07-28' 'Mcp-Method: tools/call' 'Mcp-Name: echo'

echo "--- 2025-11-25: a handshake, then calls in its session"

post '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},
"clientInfo":{"name":"curl","version":"1"}}}'
session=$(sed -n 's/^[Mm]cp-[Ss]ession-[Ii]d: *//p' "$heads" | tr -d '\r')

post '{"jsonrpc":"2.0","method":"notifications/initialized"}' \
    "Mcp-Session-Id: $session" 'MCP-Protocol-Version: 2025-11-25'
post '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{"a":2,"b":40}}}' \
    "Mcp-Session-Id: $session" 'MCP-Protocol-Version: 2025-11-25'

# Whoever opened a session ends it.
curl -sS --fail --max-time 30 -X DELETE "$url" -H "Mcp-Session-Id: $session" -H 'MCP-Protocol-Version: 2025-11-25'
echo "--- done"
