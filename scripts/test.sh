#!/usr/bin/env bash
# Installs what is missing, builds everything and runs all tests. The last
# line is 'N passed, N failed', summed over the runners.
#
# usage: scripts/test.sh [options]
#   --full     the whole of the conformance problems instead of the sample
#   --no-deps  do not look for missing packages
#   --help     print this text

set -euo pipefail
source "$(dirname "$0")/common.sh"

full=no deps=yes
for arg in "$@"; do
  case "$arg" in
    --full) full=yes ;;
    --no-deps) deps=no ;;
    --help | -h) usage && exit 0 ;;
    *) die "unknown option '$arg' (--help lists the options)" ;;
  esac
done

cd "$ROOT"
reports="$BUILD/reports"
failed_steps=()
run_step() {
  step "$@" || failed_steps+=("$1")
}

unit_tests() {
  ctest --test-dir "$BUILD" --output-on-failure --no-tests=error \
    --parallel "$JOBS" --output-junit "$reports/unit.xml"
}
lit_tests() {
  "$LLVM_BIN/lit" -sv -j "$JOBS" --xunit-xml-output "$reports/lit.xml" \
    "$BUILD/test"
}
conformance_tests() {
  local mode="--sample"
  [[ $full == no ]] || mode="--full"
  "$VENV/bin/python3" test/conformance/run.py "$mode" --jobs "$JOBS" \
    --na-run "$BUILD/bin/na-run" --keep "$reports/conformance-failed" 2>&1 |
    tee "$reports/conformance.log"
}
gradient_tests() {
  local size=(--sample=30 --sweep=30 --limit=0.2 --opt-level=0)
  [[ $full == no ]] || size=(--full --sweep=500)
  "$VENV/bin/python3" test/conformance/run.py --backward "${size[@]}" \
    --jobs "$JOBS" --na-run "$BUILD/bin/na-run" \
    --keep "$reports/gradients-failed" 2>&1 | tee "$reports/gradients.log"
}
python_tests() {
  env PYTHONPATH="$ROOT/python" NA_MLIR_LIBRARY="$BUILD/lib/libNAMLIRC.so" \
    "$VENV/bin/python3" -m pytest -q --junit-xml "$reports/python.xml" "$@"
}
python_wheel() {
  "$ROOT/scripts/check-wheel.sh" 2>&1 | tee "$reports/wheel.log"
}
ptxas_tier() {
  "$VENV/bin/python3" test/Ptxas/run.py --jobs "$JOBS" \
    --na-opt "$BUILD/bin/na-opt" --na-run "$BUILD/bin/na-run" 2>&1 |
    tee "$reports/ptxas.log"
}
portable_tools() {
  "$ROOT/scripts/check-portable.sh" 2>&1 | tee "$reports/portable.log"
}
fuzzing() {
  "$ROOT/scripts/fuzz.sh" --seconds=60 2>&1 | tee "$reports/fuzz.log"
}

[[ $deps == no ]] ||
  step "install what is missing" "$ROOT/scripts/install-deps.sh"
step "build" "$ROOT/scripts/build.sh"
rm -rf "$reports"
mkdir -p "$reports"
run_step "unit tests" unit_tests
run_step "lit tests" lit_tests
run_step "conformance tests" conformance_tests
run_step "conformance tests of gradients" gradient_tests
python_files=(python/tests)
"$VENV/bin/python3" -c 'import torch' 2>/dev/null || {
  say "PyTorch tests left out: build/venv has no torch"
  python_files=(python/tests/test_numpy.py python/tests/test_tools.py)
}
run_step "Python tests" python_tests "${python_files[@]}"
ptxas_reports=()
if command -v ptxas >/dev/null; then
  run_step "ptxas tier" ptxas_tier
  ptxas_reports=("$reports/ptxas.log")
else
  say "ptxas tier left out: ptxas is not on PATH (CUDA toolkit)"
fi
run_step "portable tools" portable_tools
run_step "Python wheel" python_wheel
run_step "fuzzing" fuzzing

print_step_times
for name in ${failed_steps[@]+"${failed_steps[@]}"}; do
  echo "failed: $name"
done
rc=0
"$VENV/bin/python3" scripts/count_results.py "$reports/unit.xml" \
  "$reports/lit.xml" "$reports/conformance.log" "$reports/gradients.log" \
  "$reports/python.xml" \
  "$reports/wheel.log" \
  ${ptxas_reports[@]+"${ptxas_reports[@]}"} "$reports/portable.log" \
  "$reports/fuzz.log" || rc=1
((${#failed_steps[@]} == 0)) || rc=1
exit $rc
