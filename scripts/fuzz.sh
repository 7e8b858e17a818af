#!/usr/bin/env bash
# Feeds changed copies of the tests' and examples' programs to the parser, the
# verifiers and the pipelines, in one process, and looks for crashes. The last
# line is '1 passed, 0 failed' or '0 passed, 1 failed'.
#
# usage: scripts/fuzz.sh [options]
#   --seconds=N  how long (default 60)
#   --runs=N     how many inputs, instead of how long
#   --seed=N     the random seed (default 1)
#   --sanitize   build into build-fuzz/ with coverage and the address
#                sanitizer: slower to build, finds more
#   --help       print this text
#
# An input that crashes is kept under build/fuzz/crashes (build-fuzz/fuzz/...);
# `build/bin/na-fuzz FILE` runs it again.

set -euo pipefail
source "$(dirname "$0")/common.sh"

limit=-max_total_time=60 seed=1 preset=dev
for arg in "$@"; do
  case "$arg" in
    --seconds=*) limit="-max_total_time=${arg#*=}" ;;
    --runs=*) limit="-runs=${arg#*=}" ;;
    --seed=*) seed="${arg#*=}" ;;
    --sanitize) preset=fuzz BUILD="$ROOT/build-fuzz" ;;
    --help | -h) usage && exit 0 ;;
    *) die "unknown option '$arg' (--help lists the options)" ;;
  esac
done

cd "$ROOT"
"$ROOT/scripts/build.sh" --preset="$preset" na-fuzz
work="$BUILD/fuzz"
rm -rf "$work/seeds"
mkdir -p "$work/seeds" "$work/corpus" "$work/crashes"

# One seed for each part of a split file.
find . -path './build*' -prune -o -name '*.mlir' -print | LC_ALL=C sort |
  while IFS= read -r file; do
    awk -v prefix="$work/seeds/${file//[.\/]/-}" '
      /^\/\/ -----/ { part++; next }
      /^[ \t]*\/\// { next }
      { print > (prefix "." part + 0) }' "$file"
  done

rc=0
# LLVM's shared libraries are not instrumented: they do not take part when its
# headers, compiled into ours, poison an arena; and what they keep until the
# process ends is no leak.
export ASAN_OPTIONS="detect_leaks=0:allow_user_poisoning=0"
"$BUILD/bin/na-fuzz" "$limit" -seed="$seed" -keep_seed=1 -mutate_depth=2 -prefer_small=0 \
  -reduce_inputs=0 -len_control=0 -max_len=16384 -timeout=30 \
  -rss_limit_mb=8192 -artifact_prefix="$work/crashes/" -print_final_stats=1 \
  "$work/corpus" "$work/seeds" >"$work/log" 2>&1 || rc=$?
if ((rc)); then
  tail -n 60 "$work/log"
  echo "0 passed, 1 failed"
  exit 1
fi
grep '^na-fuzz: ' "$work/log"
echo "1 passed, 0 failed"
