# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=bash disable=SC2034
# What the scripts share: packages, presets, build folders. Sourced, never run.
#
# TIER_BUILD_DIR  where the presets' build folders go (default: build/ beside scripts/)
# TIER_JOBS       how many compilers run at once (default: one a core)

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build_dir=$(realpath -m "${TIER_BUILD_DIR:-$root/build}")
jobs=${TIER_JOBS:-$(nproc)}
# Clones and worktrees share what the compiler has made of the same sources.
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$root} CCACHE_NOHASHDIR=${CCACHE_NOHASHDIR:-1}

build_packages=(g++ cmake ninja-build ccache pkg-config git python3 libtbb-dev liburing-dev libnuma-dev libpmem-dev libmemkind-dev libdnnl-dev libcli11-dev
  nlohmann-json3-dev libfmt-dev libxxhash-dev zlib1g-dev libzstd-dev doctest-dev libbenchmark-dev libmimalloc-dev libjemalloc-dev libboost-dev
  gnuplot-nox)
check_packages=(clang clang-format clang-tidy codespell python3-venv chromium groff-base zsh)

say() { printf '\n== %s\n' "$*"; }

as_root() {
  if [[ $(id -u) == 0 ]]; then "$@"; else sudo "$@"; fi
}

installed() { [[ $(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }

# Installs those of the named Debian packages that are missing. Elsewhere they are the reader's to provide.
install_packages() {
  if ! command -v dpkg-query >/dev/null; then
    echo "not a Debian system: the packages to provide are $*" >&2
    return
  fi
  local package missing=()
  for package in "$@"; do
    installed "$package" || missing+=("$package")
  done
  [[ ${#missing[@]} == 0 ]] && return
  say "installing ${missing[*]}"
  as_root apt-get update -q
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
}

# As precompiled headers want it.
export CCACHE_SLOPPINESS=pch_defines,time_macros

# configure PRESET [CMAKE-OPTION...]
configure() {
  local preset=$1 launcher=()
  shift
  command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  (cd "$root" && cmake --preset "$preset" -B "$build_dir/$preset" "${launcher[@]}" "$@")
}

# build PRESET [TARGET...]
build() {
  local preset=$1 targets=()
  shift
  [[ $# -gt 0 ]] && targets=(--target "$@")
  cmake --build "$build_dir/$preset" -j "$jobs" "${targets[@]}"
}
