#!/usr/bin/env bash
# Runs on a GPU host what needs a GPU, and keeps the reports. Needs na-run,
# Python 3 with NumPy and, for some steps, what they name. The last line is
# 'N passed, N failed', summed over the steps; the exit code is 1 if any failed.
#
# usage: scripts/check-gpu.sh [options] step...
#   --na-run=FILE  the portable na-run (default: na-run beside this script, in
#                  the folder of pack-gpu-kit.sh, else in build-portable/bin)
#   --out=FOLDER   where reports go (default: gpu-reports)
#   --seed=N       decides what is random (default: today's date)
#   --minutes=M    each step starts nothing new after M minutes, and what is left
#                  fails it (default: 30)
#   --wheel=FILE   na_mlir for the steps python and host, installed into a folder
#                  of the reports (default: the wheel beside this script, if any)
#   --shard=I/N    of the steps forward and backward, only every N-th problem,
#                  from the I-th on
#
# steps:
#   forward          all problems of the conformance files, all causal
#                    combinations, three lowerings, code for older chips
#   forward-hopper   the same on warpgroups, with 128 channels, f16 and bf16
#   sweep            500 random problems with random schedules for warpgroups
#   backward         gradients of all problems: bf16, and f16 for every fifth
#   backward-hopper  the same in bf16 with 64 and with 128 channels, whose gradients
#                    have one kernel on Hopper
#   backward-probes  inverse masks, edges of tiles, 100 random tilings
#   sanitize         20 programs each, forward and backward, under
#                    compute-sanitizer's memcheck and racecheck
#   repeat           30 runs bit by bit, of attention and of deterministic
#                    gradients, and 2,000 launches of schedules in which a
#                    warpgroup has no tile
#   large            2,097,153 tokens, more than 2^31 elements a tensor
#   python           the tests of na_mlir (PyTorch)
#   host             host time of calls beside compiled FlexAttention (PyTorch)

set -uo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$here"
[[ -d "$root/test" ]] || root="$(dirname "$here")"
na_run="$root/na-run"
[[ -x "$na_run" ]] || na_run="$root/build-portable/bin/na-run"
out=gpu-reports seed="$(date -u +%Y%m%d)" minutes=30 shard= wheel=
steps=()

usage() { sed -n '2,/^$/{s/^# \{0,1\}//;p}' "$0"; }
die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}
for arg in "$@"; do
  case "$arg" in
    --na-run=*) na_run="${arg#*=}" ;;
    --out=*) out="${arg#*=}" ;;
    --seed=*) seed="${arg#*=}" ;;
    --minutes=*) minutes="${arg#*=}" ;;
    --shard=*) shard="${arg#*=}" ;;
    --wheel=*) wheel="${arg#*=}" ;;
    --help | -h) usage && exit 0 ;;
    -*) die "unknown option '$arg' (--help lists the options)" ;;
    *) steps+=("$arg") ;;
  esac
done
((${#steps[@]})) || die "no step given (--help lists the steps)"
known=" forward forward-hopper sweep backward backward-hopper backward-probes \
sanitize repeat large python host "
for step in "${steps[@]}"; do
  [[ "$known" == *" $step "* ]] ||
    die "unknown step '$step' (--help lists the steps)"
done
[[ -x "$na_run" ]] || die "'$na_run' is no program (--na-run=FILE)"
mkdir -p "$out"
if [[ -z "$wheel" ]]; then
  for file in "$here"/na_mlir-*.whl; do
    [[ ! -f "$file" ]] || wheel="$file"
  done
fi
passed=0 failed=0

conformance() {
  local script="$1"
  shift
  python3 "$root/test/conformance/$script.py" --na-run "$na_run" \
    --seed "$seed" "$@"
}
run_forward() {
  conformance run --target=cuda --minutes "$minutes" ${shard:+--shard="$shard"} \
    --keep "$out/failed" "$@"
}
run_backward() { run_forward --backward "$@"; }
compile_and_run() { "$na_run" --target=cuda --no-fallback "$@"; }

# One line 'N passed, N failed' of what checks by comparing here.
count() {
  local good="$1" bad="$2"
  echo "$good passed, $bad failed"
  ((bad == 0))
}

# 30 runs of a problem: as many equal results, bit by bit, as runs.
repeat_problem() {
  local outputs="$1" first="" sum files
  shift
  # shellcheck disable=SC2001 # each name's file
  files="$(sed "s#\([a-z]*\)#\1=$out/repeat/\1.npy#g" <<<"$outputs")"
  rm -rf "$out/repeat"
  mkdir -p "$out/repeat"
  for _ in $(seq 30); do
    if compile_and_run --shape=40x72 --window=20x24 --heads=8 --batch=7 \
      --dtype=bf16 --seed=1 --outputs="$files" "$@" >/dev/null &&
      sum="$(cat "$out"/repeat/*.npy | sha256sum)" &&
      first="${first:-$sum}" && [[ "$sum" == "$first" ]]; then
      good=$((good + 1))
    else
      bad=$((bad + 1))
    fi
  done
}
repeat_runs() {
  local good=0 bad=0
  repeat_problem o,lse --head-dim=128
  repeat_problem dq,dk,dv --head-dim=128 --backward --deterministic
  repeat_problem dq,dk,dv --head-dim=64 --backward --deterministic
  local idle=("--shape=9x17 --window=9x9 --query-tile=8x16 --key-tile=8x8 --warpgroup-tile=8x8"
    "--shape=17x33x9 --window=5x9x9 --query-tile=1x16x8 --key-tile=1x8x8 --warpgroup-tile=1x8x8")
  for schedule in "${idle[@]}"; do
    # shellcheck disable=SC2086 # several options
    if timeout 120 "$na_run" --target=cuda --no-fallback $schedule --heads=4 \
      --head-dim=128 --dtype=bf16 --verify --bench --runs=2000 >"$out/idle.log" 2>&1; then
      good=$((good + 1))
    else
      bad=$((bad + 1))
      cat "$out/idle.log"
    fi
  done
  count $good $bad
}

large_runs() {
  local good=0 bad=0
  # The reference of a whole gradient does not fit the host; the Python tests and
  # the conformance tests read rows.
  if compile_and_run --shape=2097153 --window=128 --heads=8 --head-dim=128 \
    --dtype=bf16 --verify; then good=1; else bad=1; fi
  count $good $bad
}

sanitize_runs() {
  conformance sanitize --sweep --count 20 --chips sm_90a &&
    conformance sanitize --count 20 --chips sm_90a,sm_90 &&
    conformance sanitize --backward --count 20 --chips sm_90a,sm_90
}

# The package, in front of what is installed.
install_wheel() {
  [[ -z "$wheel" || -d "$out/site" ]] ||
    python3 -m pip install --quiet --no-index --no-deps --no-compile \
      --target "$out/site" "$wheel"
  [[ -z "$wheel" ]] || export PYTHONPATH="$(cd "$out/site" && pwd)"
}
python_runs() {
  local rc=0 report
  report="$(cd "$out" && pwd)/python.xml"
  install_wheel || return
  python3 -m pytest -q --maxfail=20 --junit-xml "$report" \
    "$root/python/tests" || rc=$?
  python3 "$here/count_results.py" "$report"
  return $rc
}
host_runs() {
  install_wheel || return
  if python3 "$root/benchmarks/host.py" --json="$out/host.json"; then
    count 1 0
  else
    count 0 1
  fi
}

run_step() {
  case "$1" in
    forward) run_forward --chip=sm_90 --parts=problems,probes ;;
    forward-hopper) run_forward --parts=problems --channels=128 \
      --pipelines=fused --dtypes=f16,bf16 ;;
    sweep) run_forward --parts=sweep --sweep 500 ;;
    backward) run_backward --parts=problems --pipelines=fused \
      --dtypes=bf16,f16/5 ;;
    backward-hopper)
      run_backward --parts=problems --pipelines=fused --dtypes=bf16 \
        --channels=64 &&
        run_backward --parts=problems --pipelines=fused --dtypes=bf16 \
          --channels=128
      ;;
    backward-probes) run_backward --parts=probes,sweep --sweep 100 ;;
    sanitize) sanitize_runs ;;
    repeat) repeat_runs ;;
    large) large_runs ;;
    python) python_runs ;;
    host) host_runs ;;
  esac
}

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null ||
  echo "no nvidia-smi"
for step in "${steps[@]}"; do
  start=$SECONDS
  run_step "$step" >"$out/$step.log" 2>&1
  rc=$?
  # A step may have several runners.
  while read -r good _ bad _; do
    passed=$((passed + good)) failed=$((failed + bad))
  done < <(grep -E '^[0-9]+ passed, [0-9]+ failed' "$out/$step.log" || true)
  ((rc == 0)) || grep -qE ', [1-9][0-9]* failed' "$out/$step.log" ||
    failed=$((failed + 1))
  printf '%-16s %5d s  exit code %d  %s\n' "$step" $((SECONDS - start)) $rc \
    "$(tail -n 1 "$out/$step.log")"
done
echo "$passed passed, $failed failed"
((failed == 0))
