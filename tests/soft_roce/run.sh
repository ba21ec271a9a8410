#!/usr/bin/env bash
# Tests over real verbs: boots guests with a RoCE (rxe) or iWARP (siw) device and runs named sets of tests in them.
#   tests/soft_roce/run.sh [--limit SECONDS] [--results FOLDER] [--build FOLDER] SET ... | all
# --help lists the sets. Uses the binaries of build/release. Exit status 77: no guest can be had here.
exec python3 -B "$(dirname "${BASH_SOURCE[0]}")/run.py" "$@"
