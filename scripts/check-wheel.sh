#!/usr/bin/env bash
# Builds the wheel of na_mlir, installs it into a fresh virtual environment and
# runs the README's example there, with no compiler and no LLVM in reach. The
# last line is 'N passed, N failed'.
#
# usage: scripts/check-wheel.sh [--python=FILE]
#   --python=FILE  the Python to make the environment with (default: python3)

set -euo pipefail
source "$(dirname "$0")/common.sh"

python=python3
for arg in "$@"; do
  case "$arg" in
    --python=*) python="${arg#*=}" ;;
    --help | -h) usage && exit 0 ;;
    *) die "unknown option '$arg' (--help lists the options)" ;;
  esac
done

# The build folders share what they compile alike.
export CCACHE_BASEDIR="${CCACHE_BASEDIR:-$ROOT}" CCACHE_NOHASHDIR=1
export CMAKE_BUILD_PARALLEL_LEVEL="$JOBS"

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
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

"$python" -m venv "$work/venv"
"$work/venv/bin/pip" wheel --quiet --disable-pip-version-check --no-deps \
  --wheel-dir "$work" "$ROOT"
wheel="$(echo "$work"/*.whl)"
ls -l "$wheel" | awk '{printf "%s: %d MB\n", $NF, $5 / 1e6}'
"$work/venv/bin/pip" install --quiet --disable-pip-version-check "$wheel"

serves_every_python() {
  [[ "$wheel" == *-py3-none-linux_*.whl ]]
}
needs_only_glibc() {
  local extra
  extra="$(ldd "$work"/venv/lib/python3*/site-packages/na_mlir/libNAMLIRC.so |
    grep -vE '(linux-vdso|ld-linux-x86-64|lib(c|m|dl|pthread|rt))\.so')"
  [[ -z "$extra" ]] || {
    echo "the library needs more than glibc:"
    echo "$extra"
    return 1
  }
}
# The first Python block of the README.
awk '/^```python/ {inside = 1; next} /^```/ {if (inside) exit} inside' \
  "$ROOT/README.md" >"$work/example.py"
runs_the_example() {
  [[ -s "$work/example.py" ]] &&
    (cd "$work" && env -i PATH=/nowhere "$work/venv/bin/python3" example.py)
}

check "the wheel is for every Python 3" serves_every_python
check "the library stands alone" needs_only_glibc
check "the README's example runs" runs_the_example

echo "$passed passed, $failed failed"
((failed == 0))
