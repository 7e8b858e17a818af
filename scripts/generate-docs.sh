#!/usr/bin/env bash
# Writes docs/dialects/*.md and docs/passes/*.md from the ODS files under
# include/na. Needs mlir-tblgen, no build.
#
# usage: scripts/generate-docs.sh [--check]
#   --check  write nothing; exit code 1, with the difference, when the
#            committed pages are not what the ODS files give

set -euo pipefail
source "$(dirname "$0")/common.sh"

check=no
for arg in "$@"; do
  case "$arg" in
    --check) check=yes ;;
    --help | -h) usage && exit 0 ;;
    *) die "unknown option '$arg' (--help lists the options)" ;;
  esac
done

cd "$ROOT"
[[ -x "$LLVM_BIN/mlir-tblgen" ]] ||
  die "$LLVM_BIN/mlir-tblgen was not found; scripts/install-deps.sh" \
    "installs it"
pages="$(mktemp -d)"
trap 'rm -rf "$pages"' EXIT
mkdir -p "$pages/dialects" "$pages/passes"

tblgen() {
  "$LLVM_BIN/mlir-tblgen" -I include -I "$LLVM_BIN/../include" "$@"
}

# include/na/Dialect/NA/IR/NAOps.td -> dialects/NA.md
for folder in include/na/Dialect/*/; do
  name="$(basename "$folder")"
  tblgen -gen-dialect-doc -dialect="${name,,}" "${folder}IR/${name}Ops.td" \
    -o "$pages/dialects/$name.md"
done

# include/na/Dialect/NA/Transforms/Passes.td -> passes/NATransforms.md
while IFS= read -r file; do
  folder="$(dirname "${file#include/na/}")"
  name="${folder#Dialect/}"
  page="$pages/passes/${name//\//}.md"
  printf '# Passes of %s\n\n' "$folder" >"$page"
  tblgen -gen-pass-doc "$file" >>"$page"
done < <(find include/na -name Passes.td | LC_ALL=C sort)

# A table of contents marker is no Markdown; blanks at ends are noise.
for page in "$pages"/*/*.md; do
  sed -e '/^\[TOC\]$/d' -e 's/[ \t]*$//' "$page" | cat -s >"$page.tidy"
  mv "$page.tidy" "$page"
done

if [[ $check == no ]]; then
  rm -rf docs/dialects docs/passes
  mkdir -p docs
  cp -r "$pages/dialects" "$pages/passes" docs/
  exit 0
fi

rc=0
for folder in dialects passes; do
  diff -ru "docs/$folder" "$pages/$folder" || rc=1
done
((rc == 0)) || die "the generated pages are out of date;" \
  "scripts/generate-docs.sh rewrites them"
