#!/usr/bin/env bash
# A compiler launcher (CMake): what gcc was to compile is compiled by clang, with gcc's arguments but those that it does not know.
#   tests/support/by_clang.sh GCC [LAUNCHER ...] GCC ARGUMENT ...
set -euo pipefail
gcc=$1
shift
command=()
for each in "$@"; do
  case $each in
    "$gcc") command+=(clang++) ;;
    --param=ggc-* | -Wno-restrict) ;;
    *) command+=("$each") ;;
  esac
done
exec "${command[@]}" -Wno-missing-field-initializers # clang takes the last word on a warning; tests/CMakeLists.txt says why
