#!/bin/sh
# Makes an empty virtual environment with pip in it, from whatever Python 3.11+ this machine has.
#
#   tools/make_venv.sh DIRECTORY
#
# It installs nothing else, and it changes nothing outside DIRECTORY. $PYTHON, when set, is the only Python tried.
# Its one rule: when it cannot do it, it says what the person at the keyboard can do about it.
set -u
target=$1
unset PYTHONHOME PYTHONPATH

is_new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

has_pip() {
    "$target/bin/python" -m pip --version >/dev/null 2>&1
}

# A Python without ensurepip (Debian splits it off) can still lend the pip it has, or use virtualenv.
make_with() {
    rm -rf "$target"
    "$1" -m venv "$target" >/dev/null 2>&1 && has_pip && return
    rm -rf "$target"
    "$1" -m venv --without-pip "$target" >/dev/null 2>&1 &&
        "$1" -m pip --python "$target/bin/python" install -q pip >/dev/null 2>&1 && has_pip && return
    rm -rf "$target"
    "$1" -m virtualenv -q "$target" >/dev/null 2>&1 && has_pip && return
    rm -rf "$target"
    return 1
}

candidates=${PYTHON:-python3 python3.11 python3.12 python3.13 python3.14 python}
tried=""
for candidate in $candidates; do
    command -v "$candidate" >/dev/null 2>&1 || continue
    if ! is_new_enough "$candidate"; then
        tried="$tried
  $candidate: older than 3.11, or does not start"
        continue
    fi
    if make_with "$candidate"; then
        echo "made $target with $("$candidate" --version 2>&1) ($(command -v "$candidate"))" >&2
        exit 0
    fi
    tried="$tried
  $candidate: can make no virtual environment (it has neither ensurepip, nor pip 22.3 or newer, nor virtualenv)"
done

cat >&2 <<MESSAGE
emceepee needs Python 3.11 or newer that can make a virtual environment, and found none.
Tried:${tried:- nothing, for the PATH has none of: $candidates}
Cure, one of:
  Debian, Ubuntu:      install the package python3-venv
  any other system:    install Python 3.11 or newer
  it is elsewhere:     make PYTHON=/path/to/python3
MESSAGE
exit 1
