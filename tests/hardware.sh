#!/usr/bin/env bash
# Tries an RDMA adapter: builds what is missing, then runs tests/support/hardware.py with these
# arguments (--help). On the other host, where there are two: tests/hardware.sh --serve.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
case " $* " in
  *" --help "* | *" -h "* | *" --no-build "* | *" --dry-run "*) ;;
  *)
    "$root/tests/support/install.sh" build tests
    (cd "$root" && cmake --preset ci -DTICKPATH_TESTS=ON >/dev/null && cmake --build --preset ci --target all)
    ;;
esac
exec python3 -B "$root/tests/support/hardware.py" "$@"
