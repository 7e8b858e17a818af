#!/usr/bin/env bash
# Makes a folder to copy to a GPU host that has a driver, Python and NumPy: the
# portable na-run (compressed), na-tune, the conformance tests, the benchmarks and
# check-gpu.sh, which runs them there.
#
# usage: scripts/pack-gpu-kit.sh [--wheel] FOLDER
#   --wheel  the wheel of na_mlir and its tests too, for a host with PyTorch

set -euo pipefail
source "$(dirname "$0")/common.sh"

with_wheel=no kit=
for arg in "$@"; do
  case "$arg" in
    --wheel) with_wheel=yes ;;
    --help | -h) usage && exit 0 ;;
    -*) die "unknown option '$arg' (--help lists the options)" ;;
    *) kit="$arg" ;;
  esac
done
[[ -n "$kit" ]] || die "no folder given (--help prints the usage)"

"$ROOT/scripts/pack-portable.sh"
mkdir -p "$kit/test" "$kit/python"
cp "$ROOT/build-portable/na-run.xz" "$ROOT/build-portable/na-tune" \
  "$ROOT/scripts/check-gpu.sh" "$ROOT/scripts/count_results.py" "$kit"
for folder in test/conformance benchmarks; do
  rm -rf "${kit:?}/$folder"
  cp -r "$ROOT/$folder" "$kit/$folder"
done
rm -rf "$kit/benchmarks/results"
if [[ $with_wheel == yes ]]; then
  rm -rf "$kit/python/tests" "$kit"/na_mlir-*.whl
  cp -r "$ROOT/python/tests" "$kit/python/tests"
  CCACHE_BASEDIR="${CCACHE_BASEDIR:-$ROOT}" CCACHE_NOHASHDIR=1 \
    CMAKE_BUILD_PARALLEL_LEVEL="$JOBS" \
    "$VENV/bin/pip" wheel --quiet --disable-pip-version-check --no-deps \
    --wheel-dir "$kit" "$ROOT"
fi
find "$kit" -name __pycache__ -prune -exec rm -rf {} +
# The suite that results name.
git -C "$ROOT" rev-parse --short HEAD >"$kit/COMMIT"
du -sh "$kit"
