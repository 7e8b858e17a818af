# Shared by the scripts of this folder; sourced, not run.
# shellcheck shell=bash

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
BUILD="$ROOT/build"
VENV="$BUILD/venv"
JOBS="${JOBS:-$(nproc)}"
# shellcheck disable=SC2034 # read by the scripts that source this file
LLVM_BIN=/usr/lib/llvm-22/bin

say() { printf '== %s\n' "$*"; }
warn() { printf 'warning: %s\n' "$*" >&2; }
die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# usage: prints the comment block at the head of the calling script.
usage() {
  sed -n '2,/^$/{s/^# \{0,1\}//;p}' "$0"
}

# step TITLE COMMAND...: runs the command and records how long it took.
STEP_TIMES=()
step() {
  local title="$1" start=$SECONDS rc=0
  shift
  say "$title"
  "$@" || rc=$?
  STEP_TIMES+=("$(printf '%6d s  %s' $((SECONDS - start)) "$title")")
  return $rc
}

print_step_times() {
  say "time per step"
  printf '%s\n' "${STEP_TIMES[@]}"
}
