#!/usr/bin/env python3
"""Runs a command in a guest with a kernel RDMA device (RoCE: rxe; iWARP: siw), on this machine's own files.

  tests/soft_roce/guest.py [--device siw] [--guests 2] [--limit SECONDS] [--peer COMMAND] -- COMMAND [ARGUMENT ...]

The guest sees the host's file system read-only, with a fresh /tmp, and the tree and the working folder as here;
the results folder is writable ($TICKPATH_RIG_RESULTS). The environment is passed on, with TICKPATH_PROVIDER=verbs and
TICKPATH_VERBS_ADDRESS=10.77.0.1 unless set. Output streams; the exit status is the command's, 124 when the time
limit ended it, 125 when the rig failed, 77 when this machine can have no guest.
"""
import argparse
import os
import sys
import tempfile

import machine


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--guests", type=int, choices=(1, 2), default=1,
                        help="2: another guest, 10.77.0.2, at the end of a cable")
    parser.add_argument("--device", choices=("rxe", "siw"), default="rxe", help="RoCE v2 or iWARP (default rxe)")
    parser.add_argument("--peer", help="a shell command for the second guest, started first and ended last")
    parser.add_argument("--limit", type=int, default=300, help="seconds until all is ended (default 300)")
    parser.add_argument("--results", help="folder for consoles and what the command writes (default: none kept)")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="for the command")
    parser.add_argument("command", nargs="+")
    return parser.parse_args()


def show(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def run(options):
    if options.results:
        return run_in(options.results, options)
    with tempfile.TemporaryDirectory(prefix="tickpath-results-") as results:
        return run_in(results, options)


def run_in(results, options):
    env = dict(each.split("=", 1) for each in options.env)
    image = machine.prepare()
    if options.guests == 2 or options.peer:
        with machine.Pair(results, image, device=options.device) as (one, two):
            if options.peer:
                two.start(options.peer, env=env, cwd=os.getcwd(), sink=lambda text: show(text))
            return one.start(options.command, env=env, cwd=os.getcwd(), sink=show).wait(options.limit)
    with machine.Guest(results, image=image, device=options.device) as guest:
        guest.boot()
        return guest.start(options.command, env=env, cwd=os.getcwd(), sink=show).wait(options.limit)


def main():
    options = arguments()
    machine.end_on_signals(options.limit)
    try:
        return run(options)
    except machine.NotPossible as error:
        print(f"soft_roce: {error}", file=sys.stderr)
        return machine.NOT_POSSIBLE
    except machine.RigError as error:
        print(f"soft_roce: {error}", file=sys.stderr)
        return 124 if isinstance(error, machine.TimeLimit) else 125


if __name__ == "__main__":
    sys.exit(main())
