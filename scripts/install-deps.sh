#!/usr/bin/env bash
# Installs what the build, the tests and the examples need, and only what is
# missing: packages of the system, then Python packages into build/venv.
#
# usage: scripts/install-deps.sh [options]
#   --check            print what is missing, install nothing; exit code 2
#                      when something is missing
#   --add-llvm-source  on Ubuntu 24.04, add the apt.llvm.org package source
#                      that carries LLVM 22 (Debian 12 has it by itself)
#   --no-python        leave build/venv alone
#   --pytorch          PyTorch too (200 MB to some GB), for the tests of
#                      na_mlir.torch
#   --help             print this text
#
# exit codes: 0 all is there, 1 an installation failed, 2 something is missing
# and was not installed (--check, or a package source has to be added first)

set -euo pipefail
source "$(dirname "$0")/common.sh"

check=no add_source=no python=yes pytorch=no
for arg in "$@"; do
  case "$arg" in
    --check) check=yes ;;
    --add-llvm-source) add_source=yes ;;
    --no-python) python=no ;;
    --pytorch) pytorch=yes ;;
    --help | -h) usage && exit 0 ;;
    *) die "unknown option '$arg' (--help lists the options)" ;;
  esac
done

# The -dev packages at the end of the LLVM line are those that MLIR's CMake
# package looks for; without any one of them find_package(MLIR) fails.
packages=(
  libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools clang-22 lld-22
  libclang-rt-22-dev
  libzstd-dev zlib1g-dev libxml2-dev libedit-dev libcurl4-openssl-dev
  cmake ninja-build ccache libgtest-dev libxtensor-dev
  python3 python3-venv
)

command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
  die "this script knows Debian and Ubuntu only (apt-get was not found);" \
    "install these, or their like, by hand: ${packages[*]}"

installed() {
  [[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" == installed ]]
}

missing=()
for package in "${packages[@]}"; do
  case "$package" in
    # Any python3 that makes virtual environments will do.
    python3 | python3-venv)
      python3 -c 'import ensurepip, venv' 2>/dev/null && continue ;;
  esac
  installed "$package" || missing+=("$package")
done

venv_stamp="$VENV/requirements.txt"
venv_current() {
  cmp -s "$ROOT/scripts/requirements.txt" "$venv_stamp" &&
    "$VENV/bin/python3" -c 'import numpy' 2>/dev/null
}

if [[ $check == yes ]]; then
  rc=0
  if ((${#missing[@]})); then
    echo "missing packages: ${missing[*]}"
    rc=2
  fi
  if [[ $python == yes ]] && ! venv_current; then
    echo "missing or outdated: Python packages in ${VENV#"$ROOT"/}"
    rc=2
  fi
  ((rc)) || echo "all is there"
  exit $rc
fi

as_root() {
  if ((EUID == 0)); then
    env DEBIAN_FRONTEND=noninteractive "$@"
  elif command -v sudo >/dev/null; then
    sudo env DEBIAN_FRONTEND=noninteractive "$@"
  else
    die "missing packages: ${missing[*]}; run this script as root, or" \
      "install them with apt-get"
  fi
}

# True when apt knows a version of every package named. (grep reads to the end:
# with -q it would leave early and pipefail would blame apt-cache.)
known() {
  local package
  for package in "$@"; do
    apt-cache policy "$package" 2>/dev/null |
      grep '^  Candidate: [^(]' >/dev/null || return 1
  done
}

updated=no
update_lists() {
  updated=yes
  as_root apt-get update
}

add_llvm_source() {
  local codename="$1" key
  key="$(mktemp)"
  as_root apt-get install -y --no-install-recommends ca-certificates curl &&
    curl -fsSL -o "$key" https://apt.llvm.org/llvm-snapshot.gpg.key &&
    as_root install -m 644 "$key" /etc/apt/trusted.gpg.d/apt.llvm.org.asc &&
    echo "deb http://apt.llvm.org/$codename/ llvm-toolchain-$codename-22 main" |
    as_root tee /etc/apt/sources.list.d/llvm-22.list >/dev/null &&
    update_lists
}

install_missing() {
  as_root apt-get install -y --no-install-recommends "${missing[@]}"
}

os_release() {
  # shellcheck disable=SC1090,SC1091 # every Debian and Ubuntu has this file
  (source "${OS_RELEASE:-/etc/os-release}" && eval "echo \"\${$1:-unknown}\"")
}

if ((${#missing[@]})); then
  say "installing: ${missing[*]}"
  known "${missing[@]}" || update_lists || die "apt-get update failed"
  if ! known "${missing[@]}" && [[ "$(os_release ID)" == ubuntu ]]; then
    codename="$(os_release VERSION_CODENAME)"
    if [[ $add_source == no ]]; then
      cat >&2 <<TEXT
error: Ubuntu's own packages do not carry LLVM 22. The LLVM project's package
source does. Run

  scripts/install-deps.sh --add-llvm-source

which adds the key and this line to apt's sources, or add them by hand:

  deb http://apt.llvm.org/$codename/ llvm-toolchain-$codename-22 main
TEXT
      exit 2
    fi
    add_llvm_source "$codename" || die "apt.llvm.org could not be added"
  fi
  for package in "${missing[@]}"; do
    known "$package" || {
      echo "error: no package source of this machine has '$package'" \
        "($(os_release PRETTY_NAME)); Debian 12 has it in its security suite" >&2
      exit 2
    }
  done
  # The lists may be older than the packages that the source now has.
  install_missing ||
    { [[ $updated == no ]] && update_lists && install_missing; } ||
    die "apt-get could not install: ${missing[*]}"
fi

if [[ $python == yes ]] && ! venv_current; then
  say "installing Python packages into ${VENV#"$ROOT"/}"
  python3 -m venv "$VENV" || die "python3 -m venv failed"
  "$VENV/bin/python3" -m pip install --quiet --disable-pip-version-check \
    -r "$ROOT/scripts/requirements.txt" ||
    die "pip could not install scripts/requirements.txt"
  cp "$ROOT/scripts/requirements.txt" "$venv_stamp"
fi
if [[ $pytorch == yes ]] && ! "$VENV/bin/python3" -c 'import torch' 2>/dev/null
then
  say "installing PyTorch into ${VENV#"$ROOT"/}"
  "$VENV/bin/python3" -m pip install --quiet --disable-pip-version-check \
    torch==2.13.0 || die "pip could not install torch==2.13.0"
fi
say "dependencies are in place"
