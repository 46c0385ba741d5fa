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
check_packages=(clang-19 llvm-19 clang-format clang-tidy codespell python3-venv chromium groff-base universal-ctags zsh)

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

# preset_options PRESET: sets how the scripts build and test it: options of CMake, targets (none: all), arguments of ctest, and
# variables of the tests.
preset_options() {
  local preset=$1 long
  options=(-DTIER_FAST_BUILD=ON) targets=() chosen=() environment=()
  [[ $preset == release ]] && options=() # what users build is compiled as users compile it, all else in less time
  if [[ $preset == @(asan|tsan) ]]; then
    # clang compiles with sanitizers faster than g++, and its analysis of locks must have nothing to say.
    options+=(-DCMAKE_CXX_COMPILER="$(sanitizing_compiler)" -DCMAKE_COMPILE_WARNING_AS_ERROR=ON)
    long=$([[ ${TIER_LONG:-0} == 0 ]] && echo OFF || echo ON)
    options+=(-DTIER_BUILD_MUTANTS="$long")
    [[ $preset == tsan ]] && options+=(-DTIER_BUILD_SERIAL_TESTS="$long")
  fi
  if [[ $preset == asan_samples ]]; then
    targets=(samples/all tools/all)
    chosen=(--tests-regex '^(tools|samples|options|paper|index|dlrm|training)')
  fi
  if [[ $preset == tsan_training ]]; then
    targets=(tier_test_training)
    chosen=(--tests-regex '^training$')
    environment=(OMP_NUM_THREADS=1) # more would meet at barriers that ThreadSanitizer does not see
  fi
  return 0
}

# Debian's clang++-19, or what a system calls clang++.
sanitizing_compiler() { command -v clang++-19 || command -v clang++ || echo clang++-19; }

# g++ 12's ThreadSanitizer cannot start where the kernel randomises addresses by more than 28 bits.
without_randomisation() {
  if [[ $(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 0) -gt 28 ]] && setarch -R true 2>/dev/null; then
    setarch -R "$@"
  else
    "$@"
  fi
}

# run_tests PRESET REPORT SECONDS: the tests of a preset that `preset_options` has described; SECONDS for one test at most.
run_tests() {
  local preset=$1 report=$2 limit=$3
  # Those that measure, or whose threads use every core, ask to run alone; of the others some wait for a disk.
  # Programs under test measure no kernel beside their work, and leave the user's cache folder alone.
  without_randomisation env TIER_COPY_KERNEL=guess "${environment[@]}" \
    ctest --test-dir "$build_dir/$preset" --parallel "$(($(nproc) + 1))" "${chosen[@]}" --output-on-failure \
    --no-tests=error \
    --test-output-size-passed 1000000 \
    --timeout "$limit" --output-junit "$report"
}
