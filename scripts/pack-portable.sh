#!/usr/bin/env bash
# Builds the portable na-run, strips it and compresses it for copying to a host
# that has no LLVM: build-portable/na-run.xz. The script na-tune goes beside it.
#
# usage: scripts/pack-portable.sh

set -euo pipefail
source "$(dirname "$0")/common.sh"

for arg in "$@"; do
  case "$arg" in
    --help | -h) usage && exit 0 ;;
    *) die "unknown option '$arg' (--help lists the options)" ;;
  esac
done

"$ROOT/scripts/build.sh" --preset=portable na-run
packed="$ROOT/build-portable/na-run"
strip -o "$packed" "$ROOT/build-portable/bin/na-run"
install -m 755 "$ROOT/tools/na-tune/na-tune.py" "$ROOT/build-portable/na-tune"
xz --keep --force --threads=0 "$packed"
ls -l "$packed" "$packed.xz" | awk '{printf "%s: %d MB\n", $NF, $5 / 1e6}'
