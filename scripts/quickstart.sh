#!/usr/bin/env bash
# The first run: installs what is missing, builds the tools, then compiles a
# fused 2-D neighborhood attention from the na dialect, runs it, verifies it
# against the naive lowering and times it.
#
# usage: scripts/quickstart.sh [--no-deps]

set -euo pipefail
source "$(dirname "$0")/common.sh"

deps=yes
for arg in "$@"; do
  case "$arg" in
    --no-deps) deps=no ;;
    --help | -h) usage && exit 0 ;;
    *) die "unknown option '$arg' (--help lists the options)" ;;
  esac
done

cd "$ROOT"

fused_attention() {
  "$BUILD/bin/na-run" --shape=56x56 --batch=1 --heads=4 --head-dim=32 \
    --window=7x7 --dtype=f32 --pipeline=fused --verify --bench
}

# FILL IN: a NAT block (examples/nat_block.mlir) on the features of a
# photograph; writes the picture of one query's window and of the output.
nat_block() {
  :
}

[[ $deps == no ]] ||
  step "install what is missing" "$ROOT/scripts/install-deps.sh"
step "build na-opt and na-run" "$ROOT/scripts/build.sh" na-opt na-run
step "fused 2-D neighborhood attention: compile, run, verify, time" \
  fused_attention
step "a NAT block on the features of a photograph" nat_block

print_step_times
cat <<TEXT
== done
The tools are in build/bin; each of them explains itself with --help.
Next: scripts/test.sh runs all tests, README.md shows the pipeline by example.
TEXT
