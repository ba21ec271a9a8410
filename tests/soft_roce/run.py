#!/usr/bin/env python3
"""Tests over real verbs, in guests with a RoCE (rxe) or iWARP (siw) device."""
import argparse
import pathlib
import shutil
import sys
import time

import machine
from check_set import check, check_two
from datagram_sets import datagrams, datagrams_two
from fabric_sets import conformance, conformance_two, link, shared_two
from fault_sets import faults, faults_two
from interop_set import interop, interop_two
from lat_set import bw, lat
from multicast_set import multicast, multicast_cost_two, multicast_two
from ofi_sets import conformance_ofi, pipeline_ofi, two_hosts_ofi
from pair_sets import pair_two
from pipeline_sets import loss, pipeline, two_hosts
from report import Run
from siw_sets import conformance_siw, link_siw, loss_siw, pipeline_siw, two_hosts_siw

# Those of one guest first: sets share their guests, and booting takes its time.
SETS = {each.__name__: each
        for each in (check, interop, conformance, datagrams, link, multicast, pipeline,
                     check_two, interop_two, conformance_two, datagrams_two, shared_two, lat, bw, two_hosts, loss,
                     conformance_siw, pipeline_siw)}
# Long, or what they measure depends on how busy this machine is: by name only.
BY_NAME = {each.__name__: each for each in (faults, faults_two, pair_two, two_hosts_siw, loss_siw, link_siw,
                                            conformance_ofi, pipeline_ofi, two_hosts_ofi, multicast_two,
                                            multicast_cost_two)}


def arguments():
    sets = "\n".join(f"  {name:<16} {function.__doc__}" for name, function in (SETS | BY_NAME).items())
    parser = argparse.ArgumentParser(prog="run.sh", description=__doc__,
                                     epilog=f"sets:\n{sets}\n  all          all but {', '.join(BY_NAME)}",
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=int, default=1500, help="seconds until all is ended (default 1500)")
    parser.add_argument("--build", default=str(machine.TREE / "build/release"), help="where the binaries are")
    parser.add_argument("--results", help="folder of logs (default: BUILD/soft_roce, emptied first)")
    parser.add_argument("--seeds", type=int, default=3, help="runs of pair_two (default 3)")
    parser.add_argument("--seed", type=int, default=1, help="of the first of them; each further one has the next")
    parser.add_argument("--dead-after", type=int, default=350, metavar="MS",
                        help="pair_two: silence that counts as death (default 350; more on a busy machine)")
    parser.add_argument("sets", nargs="+", choices=[*SETS, *BY_NAME, "all"], metavar="SET")
    return parser.parse_args()


def results_folder(options):
    if options.results:
        return pathlib.Path(options.results).resolve()
    folder = pathlib.Path(options.build).resolve() / "soft_roce"
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def main():
    options = arguments()
    machine.end_on_signals(options.limit)
    run = None
    try:
        with Run(results_folder(options), pathlib.Path(options.build).resolve(), machine.prepare()) as run:
            run.dead_after_ms = options.dead_after
            run.seeds = range(options.seed, options.seed + options.seeds)
            for name in SETS if "all" in options.sets else options.sets:
                function = (SETS | BY_NAME)[name]
                print(f"-- {name}: {function.__doc__} ({time.strftime('%T')})", flush=True)
                run.set = name
                function(run)
    except machine.NotPossible as error:
        print(f"soft_roce: {error}", file=sys.stderr)
        return machine.NOT_POSSIBLE
    except machine.RigError as error:
        print(f"soft_roce: {error}", file=sys.stderr)
        if run is None:
            return 125
        run.broken_off(error)
    except SystemExit:  # a signal
        if run is not None:
            run.broken_off("ended by a signal")
            run.finish()
        raise
    return run.finish()


if __name__ == "__main__":
    sys.exit(main())
