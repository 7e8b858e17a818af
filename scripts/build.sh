#!/usr/bin/env bash
# Configures the preset and builds targets of it with Ninja.
#
# usage: scripts/build.sh [--preset=NAME] [target...]
#   --preset=NAME  'dev' (default) links libMLIR.so and libLLVM.so and builds
#                  into build/; 'portable' links the static archives and
#                  builds into build-portable/; 'fuzz' is that of fuzz.sh
#   target...      what to build; everything when left out
#   JOBS=N         in the environment: parallel jobs (default: all cores)

set -euo pipefail
source "$(dirname "$0")/common.sh"

preset=dev targets=()
for arg in "$@"; do
  case "$arg" in
    --preset=*) preset="${arg#*=}" ;;
    --help | -h) usage && exit 0 ;;
    -*) die "unknown option '$arg' (--help lists the options)" ;;
    *) targets+=("$arg") ;;
  esac
done

# The build folders of the presets share what they compile alike.
export CCACHE_BASEDIR="${CCACHE_BASEDIR:-$ROOT}" CCACHE_NOHASHDIR=1

cd "$ROOT"
log="$(mktemp)"
trap 'rm -f "$log"' EXIT
cmake --preset "$preset" >"$log" 2>&1 || {
  cat "$log" >&2
  die "configuring preset '$preset' failed; scripts/install-deps.sh installs" \
    "what the build needs"
}
cmake --build --preset "$preset" -j "$JOBS" \
  ${targets[@]+--target "${targets[@]}"}
