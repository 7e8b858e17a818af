#!/usr/bin/env bash
# The first run: installs what is missing, builds the tools, then
#   1. compiles a fused 2-D neighborhood attention from the na dialect, runs it,
#      verifies it against the naive lowering and times it;
#   2. does the same with a whole NAT block on a photograph, and draws the
#      windows of two queries and the output.
# Everything goes into build/; the picture is build/quickstart/nat_block.png.
#
# usage: scripts/quickstart.sh [--no-deps]
#   --no-deps  do not look for missing packages

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
na_run="$BUILD/bin/na-run"
out="build/quickstart"
photo="examples/data/chelsea.npy"
python="$VENV/bin/python3"
[[ -x $python || $deps == yes ]] || python=python3

# Commands are chained by && because set -e is off inside a step.

fused_attention() {
  "$na_run" --shape=56x56 --batch=1 --heads=4 --head-dim=32 --window=7x7 \
    --dtype=f32 --pipeline=fused --verify --bench | tee "$out/attention.txt"
}

# arrays NAME...: the value of --inputs for these arguments of the block.
arrays() {
  local name list=""
  for name in "$@"; do
    list+="${list:+,}$name=$out/arrays/$name.npy"
  done
  echo "$list"
}

nat_block() {
  local all
  rm -rf "$out/arrays"
  "$python" examples/make_features.py "$photo" "$out/arrays" >"$out/inputs" &&
    all="$(<"$out/inputs")" &&
    "$na_run" examples/nat_block.mlir --inputs="$all" \
      --outputs="y=$out/output.npy" --pipeline=fused --verify --bench |
    tee "$out/nat_block.txt" &&
    "$na_run" examples/nat_block.mlir --entry=attention_weights \
      --inputs="$(arrays x norm1_gain norm1_shift qkv_weight qkv_shift \
        position_bias)" \
      --outputs="weights=$out/weights.npy" >"$out/weights.txt"
}

draw() {
  rm -f "$out/nat_block.png"
  "$python" examples/show.py "$photo" "$out/arrays/x.npy" "$out/weights.npy" \
    "$out/output.npy" "$out/nat_block.png"
}

# summarize TITLE LOG: the verdict on each output and the time.
summarize() {
  awk -v title="$1" '
    $NF == "pass" { checks = checks sprintf(", %s %s", $1, $2) }
    $1 == "bench" { sub(/^bench */, ""); time = $0 }
    END { printf "%s\n  verified, errors: %s\n  %s\n", title,
          substr(checks, 3), time }' "$2"
}

failed() { die "'$1' failed; what it printed is above"; }
run() { step "$@" || failed "$1"; }

[[ $deps == no ]] ||
  run "install what is missing" "$ROOT/scripts/install-deps.sh"
run "build na-opt and na-run" "$ROOT/scripts/build.sh" na-opt na-run
"$python" -c 'import numpy' 2>/dev/null ||
  die "$python has no NumPy; scripts/install-deps.sh installs it"
mkdir -p "$out"
run "fused 2-D neighborhood attention: compile, run, verify, time" \
  fused_attention
run "a NAT block on a photograph: compile, run, verify, time" nat_block
run "draw the windows of two queries and the output" draw

print_step_times
say "summary"
summarize "neighborhood attention, 56x56 tokens, window 7x7, 4 heads of 32" \
  "$out/attention.txt"
summarize "NAT block, 56x56 tokens of 64 features, window 7x7" \
  "$out/nat_block.txt"
[[ ! -e $out/nat_block.png ]] || echo "picture: $out/nat_block.png"
cat <<TEXT
The tools are in build/bin; each of them explains itself with --help.
Next: scripts/test.sh runs all tests, README.md shows the pipeline by example.
TEXT
