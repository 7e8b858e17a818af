#!/usr/bin/env bash
# Writes docs/pipeline.md: a small program after the stages of na-to-cpu, as
# na-opt prints it. Needs a built na-opt.
#
# usage: scripts/show-pipeline.sh [options]
#   --na-opt=FILE  the tool (default: build/bin/na-opt)
#   --stdout       print the page instead
#   --check        write nothing; exit code 1, with the difference, when the
#                  committed page is not what na-opt gives

set -euo pipefail
source "$(dirname "$0")/common.sh"

na_opt="$BUILD/bin/na-opt" output=write
for arg in "$@"; do
  case "$arg" in
    --na-opt=*) na_opt="${arg#*=}" ;;
    --stdout) output=stdout ;;
    --check) output=check ;;
    --help | -h) usage && exit 0 ;;
    *) die "unknown option '$arg' (--help lists the options)" ;;
  esac
done

cd "$ROOT"
command -v "$na_opt" >/dev/null ||
  die "$na_opt was not found; scripts/build.sh na-opt builds it"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# The widths are given so that the page is the same on every machine.
options="query-tile=4 key-tile=6 vector-bits=128 registers=16"
"$na_opt" --na-to-cpu="$options" --mlir-print-ir-after-all \
  examples/small.mlir 2>"$work/dumps" >"$work/llvm" || {
  tail -n 20 "$work/dumps" >&2
  die "na-opt failed"
}

# excerpt PASS NUMBER FROM [TO]: of the NUMBER-th dump after PASS, the first line
# that matches FROM and, given TO, those after it up to the next that matches TO.
excerpt() {
  awk -v pass="($1)" -v number="$2" -v from="$3" -v to="${4:-}" '
    /IR Dump After/ { inside = index($0, pass) && ++seen == number; next }
    !inside { next }
    started { print; if ($0 ~ to) exit }
    !started && $0 ~ from { print; started = 1; if (to == "") exit }
  ' "$work/dumps" >"$work/excerpt"
  [[ -s "$work/excerpt" ]] ||
    die "dump $2 after $1 has no line that matches '$3';" \
      "scripts/show-pipeline.sh has to follow the pipeline"
  show "$work/excerpt"
}

# first_product: in the LLVM dialect, from the start of a block to the first
# product of a broadcast number and a vector.
first_product() {
  awk '
    /^ *\^bb/ { count = broadcast = 0 }
    { line[++count] = $0 }
    /llvm.shufflevector/ { broadcast = 1 }
    /llvm.intr.fma/ && broadcast {
      for (i = 1; i <= count; ++i) print line[i]
      exit
    }
  ' "$work/llvm" >"$work/excerpt"
  [[ -s "$work/excerpt" ]] || die "the LLVM dialect has no product of vectors"
  show "$work/excerpt"
}

# show FILE: a block of code, moved to the left margin.
show() {
  echo '```mlir'
  awk 'NR == 1 { match($0, /^ */); margin = RLENGTH }
    { match($0, /^ */); cut = RLENGTH < margin ? RLENGTH : margin
      sub(/ +$/, "")
      print substr($0, cut + 1) }' "$1"
  echo '```'
}

page() {
  cat <<TEXT
# A small program on its way through \`na-to-cpu\`

<!-- Written by scripts/show-pipeline.sh from what na-opt prints. -->

The program of \`examples/small.mlir\` is compiled by
\`na-opt --na-to-cpu="$options"\`.
Each section shows what the program, or the part of it that matters, is after a
pass. \`--mlir-print-ir-after-all\` prints the rest.

## The program

16 tokens on one axis, one head of 8 features, window 3: each query sees itself
and its neighbours, the first and last query the three keys at their border.

TEXT
  sed -n '/^func/,$p' examples/small.mlir >"$work/excerpt"
  show "$work/excerpt"
  cat <<'TEXT'

## A schedule: `na-select-schedule`

The cost model, or here the options, decides the tiles. A schedule is an
attribute: it can be written by hand, and no later pass decides anything.

TEXT
  excerpt na-select-schedule 1 na.attention
  cat <<'TEXT'

## Buffers: `one-shot-bufferize`

Upstream's bufferization makes tensors to buffers. The operation works on both;
the empty tensor becomes the allocation of the result.

TEXT
  excerpt one-shot-bufferize 1 func.func '^  }'
  cat <<'TEXT'

## Tiles: `na-tile-and-fuse`

The grid of 4 query tiles runs in parallel. Each tile first computes the span of
the keys that its queries see, and the intersection of their windows, from its
position (the clamps are the window's shift at the borders):

TEXT
  excerpt canonicalize 3 scf.forall ceildivsi
  cat <<'TEXT'

Then it loads its queries, transposed so that vectors run along queries, and
takes the keys in steps of 6 from the exact start of the span. Accumulator,
maximum and sum are carried from step to step: the online softmax. `na.tile.load`
reads a box of tokens and gives zeros outside the tensor; `na.tile.mask` sets
scores outside the windows to -inf, unless the step lies in the intersection.
All the rest are small tensors in `linalg`:

TEXT
  excerpt canonicalize 3 na.tile.load na.tile.store
  cat <<'TEXT'

## Masks in linalg: `na-tile-to-linalg`

The mask becomes a `linalg.generic` that does not run in steps that need none.
The tiles have become buffers here.

TEXT
  excerpt cse 1 scf.if '^        }$'
  cat <<'TEXT'

## No allocation in loops: `na-hoist-tile-buffers`

The buffers of a tile, which were made where they are used, are allocated once
per iteration of the grid.

TEXT
  excerpt na-hoist-tile-buffers 1 scf.forall arith.muli
  cat <<'TEXT'

## Vector loops: `linalg-to-vector-loops`

Every `linalg` operation on tiles becomes loops over vectors. This is the first
product, keys times queries: a block of 6x4 scores stays in registers while the
loop runs over the 8 features.

TEXT
  excerpt loop-invariant-code-motion 1 '= scf.for .*iter_args.*\(vector.*vector' '^        }'
  cat <<'TEXT'

Exponentials in f32 become arithmetic (`exp-to-arith`), which vectors can do:

TEXT
  excerpt loop-invariant-code-motion 1 'math.fma .*%cst' 'arith.mulf'
  cat <<'TEXT'

## Threads: `parallel-to-runtime`

The grid becomes a function over a range of tiles, which the run time calls on
its threads.

TEXT
  excerpt parallel-to-runtime 1 'func.func private'
  echo
  excerpt parallel-to-runtime 1 'call @naParallelFor'
  cat <<'TEXT'

## The LLVM dialect

The vector loop of above, first of its six products. LLVM's optimizer and code
generator do the rest; `na-run` runs the result.

TEXT
  first_product
}

page >"$work/page.md"
case "$output" in
  write) cp "$work/page.md" docs/pipeline.md ;;
  stdout) cat "$work/page.md" ;;
  check)
    diff -u docs/pipeline.md "$work/page.md" ||
      die "docs/pipeline.md is out of date; scripts/show-pipeline.sh rewrites it"
    ;;
esac
