#!/usr/bin/env bash
# Builds the portable na-opt and na-run and checks that they stand alone: no
# shared library of LLVM, and a small problem compiles, runs and verifies. The
# last line is 'N passed, N failed'.
#
# usage: scripts/check-portable.sh

set -euo pipefail
source "$(dirname "$0")/common.sh"

for arg in "$@"; do
  case "$arg" in
    --help | -h) usage && exit 0 ;;
    *) die "unknown option '$arg' (--help lists the options)" ;;
  esac
done

bin="$ROOT/build-portable/bin"
passed=0 failed=0
check() {
  local title="$1"
  shift
  if "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "failed: $title"
  fi
}

# Libraries that every Linux host has; what else a tool needs is named.
needs_only_system_libraries() {
  local extra
  extra="$(ldd "$bin/$1" | grep -vE \
    '(linux-vdso|ld-linux-x86-64|lib(c|m|dl|pthread|rt|stdc\+\+|gcc_s))\.so')"
  [[ -z "$extra" ]] || {
    echo "$1 needs more than the system's libraries:"
    echo "$extra"
    return 1
  }
}

"$ROOT/scripts/build.sh" --preset=portable na-opt na-run
for tool in na-opt na-run; do
  check "$tool stands alone" needs_only_system_libraries "$tool"
  ls -l "$bin/$tool" | awk '{printf "%s: %d MB\n", $NF, $5 / 1e6}'
done
check "na-opt prints its version" "$bin/na-opt" --version
check "na-run compiles, runs and verifies" \
  "$bin/na-run" --shape=14x14 --window=7x7 --heads=2 --head-dim=16 --verify
check "na-tune tunes with nothing but na-run" \
  env -i PATH=/usr/bin:/bin python3 -I "$ROOT/tools/na-tune/na-tune.py" \
  --na-run="$bin/na-run" --output="$ROOT/build-portable/tuned.json" --quiet \
  --candidates=2 --runs=1 --shape=14x14 --window=7x7 --heads=2 --head-dim=16

echo "$passed passed, $failed failed"
((failed == 0))
