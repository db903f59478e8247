#!/usr/bin/env bash
# Starts a complete platform on this machine: server, to-do app, assistant, and a sample user with simulated glasses. Ctrl-C stops it.
set -euo pipefail
cd "$(dirname "$0")/.."
# Keys, logs and conversations must not be readable by other users of this machine.
umask 077

# Every port can be changed: `TOOLYARD_PORT=9000 TOOLYARD_TODO_PORT=9001 make run`.
port() { # variable, default
  local value=${!1:-$2}
  if ! [[ $value =~ ^[0-9]{1,5}$ ]] || [ "$value" -lt 1 ] || [ "$value" -gt 65535 ]; then
    echo "$1=$value is not a port; use a number from 1 to 65535." >&2
    exit 1
  fi
  echo "$value"
}
# `exit` in a substitution ends only the substitution. `set -e` then ends the script, because these are plain assignments.
server_port=$(port TOOLYARD_PORT 8787)
todo_port=$(port TOOLYARD_TODO_PORT 7010)
assistant_port=$(port TOOLYARD_ASSISTANT_PORT 7011)
demo=$(port TOOLYARD_DEMO_PORT 7020)
address=127.0.0.1:$server_port
url=http://$address
user=ada@example.com
package=com.example.todo
todo=127.0.0.1:$todo_port
assistant_package=com.toolyard.assistant
assistant=127.0.0.1:$assistant_port
bin=target/quick
# Always use the server of this run, regardless of TOOLYARD_URL.
toolyard() { "$bin/toolyard" --server "$url" "$@"; }
keys=data/todo.env
assistant_keys=data/assistant.env
mkdir -p data
chmod 700 data
find data -maxdepth 1 -type f -exec chmod go= {} +

if ! command -v curl >/dev/null; then
  echo "Installing curl, which this script needs ..."
  apt-get update -qq && apt-get install -qq -y curl >/dev/null
fi

# Checked before anything starts, so that the error names the port instead of a log file.
is_free() { # variable, port
  if (exec 3<>"/dev/tcp/127.0.0.1/$2") 2>/dev/null; then
    echo "Port $2 is in use. Stop the program that uses it, or choose another port: $1=N make run" >&2
    return 1
  fi
}
is_free TOOLYARD_PORT "$server_port"
is_free TOOLYARD_TODO_PORT "$todo_port"
is_free TOOLYARD_ASSISTANT_PORT "$assistant_port"

children=()
stop() {
  trap - EXIT INT TERM
  echo
  echo "Stopping ..."
  # Without a reader, a write to the pipe would block forever.
  exec 4>&- || true
  rm -f data/say
  for pid in "${children[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait
}
trap stop EXIT
trap 'exit 0' INT TERM

# Waits until a command succeeds. On timeout, names the part that did not start and prints the end of its log.
wait_for() { # name, log, command ...
  local name=$1 log=$2 tries=0
  shift 2
  until "$@" >/dev/null 2>&1; do
    tries=$((tries + 1))
    if [ "$tries" -gt 150 ]; then
      echo "$name did not start. The end of $log:" >&2
      tail -n 20 "$log" >&2
      exit 1
    fi
    sleep 0.2
  done
}

# Chat needs a model. If none is configured, no API key is set and no model server runs here, use a small demonstration model.
chat="No model: set an API key such as OPENAI_API_KEY, start Ollama or llama-server, or name a model in TOOLYARD_CHAT__MODEL."
has_model() {
  local name port
  if [ -n "$(compgen -e TOOLYARD_MODELS__)" ]; then return 0; fi
  for name in TOOLYARD_CHAT__MODEL OPENAI_API_KEY ANTHROPIC_API_KEY GEMINI_API_KEY GOOGLE_API_KEY OPENROUTER_API_KEY; do
    if [ -n "${!name:-}" ]; then return 0; fi
  done
  if grep -qsE '^\[models\.|^model *=' toolyard.toml; then return 0; fi
  for port in 11434 8080 1234 8000; do
    if curl -fsS --max-time 1 "http://127.0.0.1:$port/v1/models" >/dev/null 2>&1; then return 0; fi
  done
  return 1
}
# The assistant uses the same model as the server: both read the same sections, the assistant from a separate file. Variables come first
# in that file, because TOML does not allow a table to be opened twice. The assistant cannot run models in its own process.
assistant_model=()
assistant_config=data/assistant.toml
# It may contain keys, so it must not be readable by others.
rm -f "$assistant_config"
(umask 077 && : >"$assistant_config")
endpoints() {
  local name place value named=" "
  for name in $(compgen -e TOOLYARD_MODELS__ || true); do
    place=$(printf '%s' "${name#TOOLYARD_MODELS__}" | tr '[:upper:]' '[:lower:]')
    # `TOOLYARD_MODELS__X__URL` is one setting of x. Plain strings have no quotes there.
    named+="[models.${place%%__*}] "
    value=${!name}
    case $value in
      [\{\[\"\'0-9]* | true | false) ;;
      *) value="\"$value\"" ;;
    esac
    printf 'models.%s = %s\n' "${place//__/.}" "$value"
  done
  # A variable overrides the file.
  if [ -f toolyard.toml ]; then
    awk -v named="$named" '/^\[/ { keep = /^\[models\./ && !index(named, " " $1 " ") } keep' toolyard.toml
  fi
}
model_of_file() {
  if [ -f toolyard.toml ]; then
    awk '/^\[/ { chat = /^\[chat\]/ } chat && /^model *=/ { gsub(/^model *= *"|".*$/, ""); print; exit }' toolyard.toml
  fi
}
name_models() { # the assistant's default model
  endpoints >"$assistant_config"
  if [ -n "$1" ]; then assistant_model=(--model "$1"); fi
}
if has_model; then
  name_models "${TOOLYARD_CHAT__MODEL:-$(model_of_file)}"
  chat="Chat uses the model that you configured, or the first one that was found."
  if grep -qE '(^|[{,] *)file *=' "$assistant_config"; then
    : >"$assistant_config"
    assistant_model=()
    chat="$chat
The assistant cannot run a model from a file. It uses the first model that it finds elsewhere; if there is none, it says so."
  fi
elif scripts/demo-model.sh fetch; then
  is_free TOOLYARD_DEMO_PORT "$demo"
  scripts/demo-model.sh serve $demo >data/model.log 2>&1 &
  children+=($!)
  wait_for "The demonstration model" data/model.log curl -fsS "http://127.0.0.1:$demo/health"
  export TOOLYARD_MODELS__DEMO="{ url = \"http://127.0.0.1:$demo/v1\", calling = \"small\" }" TOOLYARD_CHAT__MODEL=demo/smollm2
  name_models "$TOOLYARD_CHAT__MODEL"
  chat="Chat uses a demonstration model with 135 million parameters. It shows that tools are called, takes half a minute if it has to choose
among many tools, and its answers are often wrong.
For a better model, set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY, start Ollama or llama-server, or name a model in
TOOLYARD_CHAT__MODEL, and run this again."
  if [ "$demo" != 7020 ]; then
    chat="$chat
\`toolyard chat --local\` expects this model on port 7020. To use it here, set TOOLYARD_MODELS__DEMO__URL=http://127.0.0.1:$demo/v1 TOOLYARD_MODELS__DEMO__CALLING=small"
  fi
else
  echo "Continuing without a model: tools can be called, but chat does not work."
fi

# The assistant asks the user in person, so it may answer approvals.
export TOOLYARD_APPROVALS__APPS="[\"$assistant_package\"]"
"$bin/toolyard" serve --listen $address --data data >data/server.log 2>&1 &
children+=($!)
wait_for "The server" data/server.log curl -fsS "$url/readyz"

# Registered once. The key and the secret are shown only then, so they are stored next to the database.
if [ ! -s "$keys" ] || ! toolyard apps show $package >/dev/null 2>&1; then
  toolyard apps rm $package --yes >/dev/null 2>&1 || true
  added=$(toolyard --json apps add --package $package --name "To-do list" --url http://$todo --kind session --type standard \
    --description "Keeps what you have to do" --icon "data:image/svg+xml;base64,$(base64 <apps/todo/icon.svg | tr -d '\n')")
  field() { printf '%s' "$added" | tr -d '\n' | sed -n "s/.*\"$1\": *\"\([0-9a-f]*\)\".*/\1/p"; }
  (umask 077 && printf 'TODO_API_KEY=%s\nTODO_SIGNING_SECRET=%s\n' "$(field apiKey)" "$(field signingSecret)" >"$keys")
fi
set -a
# shellcheck disable=SC1090
. "./$keys"
set +a

# The app may have been registered with another port.
moved() { # package, address
  curl -fsS -o /dev/null -X PATCH -H 'Content-Type: application/json' -d "{\"publicUrl\":\"http://$2\"}" "$url/api/apps/$1"
}
moved $package $todo
$bin/toolyard-todo --listen $todo --server $url --package $package --register >data/todo.log 2>&1 &
children+=($!)
wait_for "The to-do app" data/todo.log curl -fsS http://$todo/health
has_tools() { toolyard --json apps show $package | grep -q '"toolCount": *5'; }
wait_for "The tool list of the to-do app" data/todo.log has_tools
toolyard --user $user apps install $package >/dev/null

# The assistant describes its own registration. The user grants it access to the tools of other apps.
if [ ! -s "$assistant_keys" ] || ! toolyard apps show $assistant_package >/dev/null 2>&1; then
  toolyard apps rm $assistant_package --yes >/dev/null 2>&1 || true
  added=$($bin/toolyard-assistant --describe --listen $assistant --package $assistant_package |
    curl -fsS -H 'Content-Type: application/json' -d @- "$url/api/apps")
  field() { printf '%s' "$added" | tr -d '\n' | sed -n "s/.*\"$1\": *\"\([0-9a-f]*\)\".*/\1/p"; }
  (umask 077 && printf 'ASSISTANT_API_KEY=%s\nASSISTANT_SIGNING_SECRET=%s\n' "$(field apiKey)" "$(field signingSecret)" >"$assistant_keys")
fi
set -a
# shellcheck disable=SC1090
. "./$assistant_keys"
set +a
moved $assistant_package $assistant
$bin/toolyard-assistant --config "$assistant_config" "${assistant_model[@]}" --listen $assistant --server $url \
  --package $assistant_package --data data/assistant.db --register >data/assistant.log 2>&1 &
children+=($!)
wait_for "The assistant" data/assistant.log curl -fsS http://$assistant/health
toolyard --user $user apps install $assistant_package >/dev/null
toolyard --user $user apps grant $assistant_package >/dev/null

# Each line that is written to this pipe is spoken by the user.
rm -f data/say
mkfifo data/say
# Also kept open here, so that a writer never waits for a reader, even while the glasses reconnect.
exec 4<>data/say
"$bin/toolyard" --server "$url" --user $user glasses --model "Even Realities G1" <>data/say >data/glasses.log 2>&1 &
children+=($!)
wait_for "The glasses" data/glasses.log curl -fsS -H "X-User-Id: $user" "$url/api/tools"
curl -fsS -X POST -H "X-User-Id: $user" "$url/api/session/apps/$assistant_package/start"

cat <<TEXT

Toolyard is running. Open the console: $url (dev mode: anyone on this machine can sign in as any user; choose $user).
The to-do app and the assistant are registered and installed for $user, who wears simulated glasses.
$chat
Logs: data/server.log, data/todo.log, data/assistant.log. Display of the glasses: data/glasses.log

Try this in another terminal:

  curl -s -H 'X-User-Id: $user' $url/api/tools

  curl -s -H 'X-User-Id: $user' -H 'Content-Type: application/json' -d '{"name":"$package:add_todo","arguments":{"todo_item":"buy milk"}}' $url/api/tools/execute

  $bin/toolyard --server $url --user $user tools call $package:get_todos

  $bin/toolyard --server $url --user $user chat --message 'Calculate 12 * 7'

  echo 'Hey Toolyard, remind me to buy milk' > data/say && tail -f data/glasses.log

Ctrl-C stops everything.
TEXT
wait
