#!/usr/bin/env python3
"""The scripts that a user meets first: what they say where they cannot go on."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import hardware  # noqa: E402
import language  # noqa: E402
import stage_times  # noqa: E402


def run(*arguments, **environment):
    return subprocess.run([str(each) for each in arguments], cwd=ROOT, env={**os.environ, **environment},
                          capture_output=True, text=True, check=False)


class Install(unittest.TestCase):
    def on(self, text):
        with tempfile.NamedTemporaryFile("w") as release:
            release.write(text)
            release.flush()
            return run("tests/support/install.sh", "build", "tests", TICKPATH_OS_RELEASE=release.name)

    def test_another_system_is_told_what_is_needed(self):
        for text, name in (("ID=fedora\nVERSION_ID=43\n", "fedora 43"), ("ID=debian\nVERSION_ID=11\n", "debian 11"),
                           ("", "an unknown system")):
            done = self.on(text)
            self.assertEqual(done.returncode, 1, done.stderr)
            for word in (name, "libquickfix-dev", "libgtest-dev", "CMake 3.25", "Containerfile", "TICKPATH_INSTALL=no"):
                self.assertIn(word, done.stderr)

    def test_who_installs_by_hand_is_left_alone(self):
        done = run("tests/support/install.sh", "build", TICKPATH_INSTALL="no", TICKPATH_OS_RELEASE="/nowhere")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_the_demo_needs_nothing_that_only_tests_need(self):
        lists = [set((ROOT / f"tests/support/packages_{name}.txt").read_text().split("\n")) - {""}
                 for name in ("build", "tests")]
        self.assertFalse(lists[0] & lists[1])
        self.assertIn("libgtest-dev", lists[1])


class Run(unittest.TestCase):
    def test_an_unknown_stage_is_refused_before_anything_is_done(self):
        done = run("tests/run.sh", "relase")
        self.assertEqual(done.returncode, 2)
        self.assertIn("relase", done.stderr)

    def test_all_stands_alone(self):
        self.assertEqual(run("tests/run.sh", "all", "asan").returncode, 2)

    def test_help_names_the_two_runs(self):
        done = run("tests/run.sh", "--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("tests/run.sh all", done.stdout)


class BuildTimes(unittest.TestCase):
    def times(self, *steps):
        with tempfile.TemporaryDirectory() as folder:
            log = "".join(f"{start}\t{end}\t0\t{output}\thash\n" for start, end, output in steps)
            (pathlib.Path(folder) / ".ninja_log").write_text("# ninja log v5\n" + log)
            return run("tests/support/build_times.py", folder)

    def test_lists_the_ten_slowest_first(self):
        done = self.times(*[(0, 1000 * (each + 1), f"{each}.o") for each in range(12)])
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertIn("12.0 s  11.o", lines[0])
        self.assertEqual(len(lines), 11)

    def test_a_step_over_the_budget_fails(self):
        done = self.times((0, 91000, "slow.o"), (0, 1000, "quick.o"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("slow.o", done.stderr)

    def test_no_build_is_said(self):
        self.assertEqual(run("tests/support/build_times.py", "/nowhere").returncode, 2)


class StageTimes(unittest.TestCase):
    RESULTS = """# Results

## 2026-01-02: times of `tests/run.sh all`

Machine's speed 2.00 (tests/support/machine_speed.sh), commit abc.

| stage | min:s |
| --- | --- |
| packages | 0:05 |
| ci build | 10:00 |
| ci tests | 20:00 |

## 2026-01-01: times of `tests/run.sh all`

Machine's speed 1.00

| stage | min:s |
| --- | --- |
| ci build | 1:00 |
"""

    def grown(self, log, command="tests/run.sh all"):
        before = stage_times.kept_run(self.RESULTS, command)
        return stage_times.grown(stage_times.read_run(log), before)

    def test_a_stage_that_grew_by_a_tenth_is_named(self):
        found = self.grown("command\ttests/run.sh all\nspeed\t2.00\nstage\tci build\t661\nstage\tci tests\t1319\n")
        self.assertEqual(len(found), 1)
        self.assertIn("ci build grew: 661 s, 600 s", found[0])

    def test_a_slower_machine_may_take_longer(self):
        self.assertEqual(self.grown("speed\t4.00\nstage\tci build\t1300\n"), [])
        self.assertEqual(len(self.grown("speed\t1.00\nstage\tci build\t400\n")), 1)

    def test_short_stages_and_new_ones_are_not_judged(self):
        self.assertEqual(self.grown("speed\t2.00\nstage\tpackages\t50\nstage\tnew\t500\n"), [])

    def test_parts_of_one_name_are_summed(self):
        self.assertEqual(len(self.grown("speed\t2.00\nstage\tci build\t400\nstage\tci build\t400\n")), 1)

    def test_another_command_has_nothing_to_be_compared_with(self):
        self.assertIsNone(stage_times.kept_run(self.RESULTS, "tests/run.sh"))

    def test_what_is_kept_can_be_read_again(self):
        now = stage_times.Run("tests/run.sh", 1.25, {"packages": 65, "release tests": 3601})
        again = stage_times.kept_run("# Results\n\n" + stage_times.section_of(now, [("a.o", 12.0)]), "tests/run.sh")
        self.assertEqual((again.speed, again.seconds), (now.speed, now.seconds))


class RunAll(unittest.TestCase):
    """tests/run.sh all in a copy where what it calls is a few lines."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        for name in ("tests/support", "tests/soft_roce", "build/asan/fuzz"):
            (self.folder / name).mkdir(parents=True)
        for name in ("tests/run.sh", "tests/support/failed_tests.py"):
            shutil.copy(ROOT / name, self.folder / name)
        self.script("tests/support/install.sh")
        self.script("tests/support/machine_speed.sh", "echo 0.90")
        self.script("tests/support/stage_times.py")
        self.script("tests/soft_roce/prepare.sh")
        self.script("tests/soft_roce/run.sh", "echo 'soft_roce: 3 passed, 0 failed, 0 skipped'")
        self.script("build/asan/fuzz/fuzz_one")
        self.script("ctest", "echo \"ctest $2\" >>calls; echo '100% tests passed, 0 tests failed out of 2'")
        self.script("cmake", '[ "$1" = --preset ] || echo "build $3 $5" >>calls')

    def script(self, name, text=""):
        (self.folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (self.folder / name).chmod(0o755)

    def run_all(self, **environment):
        # What is built ahead has idle priority: beside busy tests its turn may take a while.
        return subprocess.run(["bash", "tests/run.sh", "all"], cwd=self.folder, capture_output=True, text=True, timeout=400,
                              check=False, env={**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}", **environment})

    def test_takes_every_stage_and_builds_before_it_tests(self):
        done = self.run_all()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("10 passed, 0 failed, 0 skipped", done.stdout)
        calls = (self.folder / "calls").read_text().splitlines()
        self.assertEqual([each for each in calls if each.startswith("ctest")], ["ctest ci", "ctest asan", "ctest tsan"])
        for build, test in (("build ci all", "ctest ci"), ("build asan tickpath_tests", "ctest asan"),
                            ("build tsan tickpath_tests", "ctest tsan")):
            self.assertLess(calls.index(build), calls.index(test))
        self.assertIn("build ci all_verify_interface_header_sets", calls)

    def test_a_build_that_was_begun_ahead_and_failed_ends_it(self):
        self.script("cmake", 'case "$*" in *build*asan*) echo "error: no such thing" >&2; exit 1 ;; esac')
        done = self.run_all()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("error: no such thing", done.stdout)
        self.assertIn("building asan failed", done.stdout)

    def test_ends_itself_at_its_limit_and_says_so(self):
        self.script("cmake", "exec sleep 600")
        done = self.run_all(TICKPATH_LIMIT_MINUTES="0.01")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("stopped: this run took 0.01 minutes", done.stdout)


class ByClang(unittest.TestCase):
    def test_what_gcc_was_to_compile_clang_does_with_and_without_a_launcher(self):
        with tempfile.TemporaryDirectory() as folder:
            clang = pathlib.Path(folder) / "clang++"
            clang.write_text("#!/bin/sh\necho $LAUNCHED clang: $*\n")
            clang.chmod(0o755)
            compiling = ["/usr/bin/c++", "--param=ggc-min-heapsize=1", "-Wno-restrict", "-c", "a.cpp"]
            for launcher, said in (([], "clang:"), (["env", "LAUNCHED=by"], "by clang:")):
                done = subprocess.run([ROOT / "tests/support/by_clang.sh", compiling[0], *launcher, *compiling], capture_output=True,
                                      text=True, check=True, env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
                self.assertEqual(done.stdout.strip(), f"{said} -c a.cpp -Wno-missing-field-initializers")


class Language(unittest.TestCase):
    def test_finds_replaced_words_in_code_and_text_but_not_within_others(self):
        word = next(iter(language.WORDS))
        for text in (f"it was {word} by", f"on_{word}(", f"k{word.capitalize()}", f"Is{word.capitalize()}By"):
            self.assertTrue(language.WORD.search(text), text)
        for text in ("over" + word, "Over" + word, word + "s"):
            self.assertFalse(language.WORD.search(text), text)

    def test_counts_the_words_of_prose_and_not_those_of_code(self):
        page = "# A heading\n\nOne two three. Four `five six`: seven\neight.\n\n```\nnot this\n```\n\n| nor | this |\n- And this."
        self.assertEqual(language.sentence_lengths(page), [2, 2, 2, 3])

    def test_a_class_may_only_get_smaller(self):
        sizes = {"a::Large": (50, 3, "a.hpp"), "a::New": (41, 1, "a.hpp")}
        for known, expected in (({"a::Large": (50, 3)}, ["a::New has 41"]),
                                ({"a::Large": (49, 3), "a::New": (41, 1)}, ["a::Large has 50"]),
                                ({"a::Large": (51, 3), "a::New": (41, 1)}, ["a::Large is smaller"]),
                                ({"a::Large": (50, 3), "a::New": (41, 1), "a::Gone": (60, 2)}, ["a::Gone is smaller"])):
            findings = []
            with unittest.mock.patch.object(language, "known_large", lambda known=known: known), \
                    unittest.mock.patch.object(language, "class_sizes", lambda: sizes):
                language.check_classes(findings)
            self.assertEqual(len(findings), len(expected), findings)
            self.assertIn(expected[0], findings[0])

    def test_sees_the_members_of_the_tree(self):
        self.assertGreater(language.class_sizes()["tickpath::Strategy"][0], language.FUNCTIONS_MAX)


class Reading(unittest.TestCase):
    def test_every_function_that_the_page_names_is_where_it_says(self):
        text = " ".join((ROOT / "docs/READING.md").read_text().split())
        steps = re.findall(r"`([a-z0-9_/.]+\.(?:hpp|cpp|h))`, `([A-Za-z_:]+)\(\)`", text)
        self.assertGreater(len(steps), 40)
        for path, function in steps:
            code = (ROOT / path).read_text()
            owner, _, name = function.rpartition("::")
            self.assertRegex(code, rf"\b{name}\(", f"{path} has no {function}()")
            self.assertIn(owner.rpartition("::")[2], code, f"{path} has no {function}()")
        for path in re.findall(r"`([a-z0-9_/]+/[A-Za-z0-9_]+\.(?:hpp|cpp|h|md))`", text):
            self.assertTrue((ROOT / path).is_file(), path)


class Threats(unittest.TestCase):
    """docs/THREATS.md, the table of the fabric's services."""

    def rows(self):
        section = (ROOT / "docs/THREATS.md").read_text().split("## The services of the fabric")[1].split("\n## ")[0]
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line.startswith("|")]
        return rows[2:]

    def test_each_service_has_a_row(self):
        hello = (ROOT / "common/wire/hello.hpp").read_text()
        enumerators = re.findall(r"^  (k\w+) =", hello.split("enum class Service")[1].split("};")[0], re.M)
        names = dict(re.findall(r'\{(k\w+), "(\w+)"\}', (ROOT / "common/wire/names.cpp").read_text()))
        self.assertGreater(len(enumerators), 10)
        self.assertEqual(sorted(row[0].split("`")[1] for row in self.rows()), sorted(names[each] for each in enumerators))

    def test_what_each_row_names_as_its_test_is_there(self):
        code = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("*_test.cpp"))
        for service, *_, tests in self.rows():
            found = re.findall(r"`(\w+)\.(\w+)`", tests)
            self.assertTrue(found, service)
            for suite, name in found:
                self.assertRegex(code, rf"TEST\w*\({suite},\s+{name}\)", service)


class Controls(unittest.TestCase):
    """docs/CONTROLS.md: no row is empty, and none names what is not there."""

    @classmethod
    def setUpClass(cls):
        cls.code = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("*_test.cpp"))
        cls.reasons = set(re.findall(r"ROW\(k\w+, \w+, (\w+), \d+\)", (ROOT / "common/trading/vocabulary.hpp").read_text()))
        cls.keys = set(re.findall(r"ROW\((\w+), std::uint", (ROOT / "common/trading/order_limits.hpp").read_text()))

    def tables(self):
        text = (ROOT / "docs/CONTROLS.md").read_text()
        for section in text.split("\n## ")[1:]:
            lines = [line for line in section.splitlines() if line.startswith("|")]
            yield [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]

    def test_each_row_has_a_test_that_is_there_or_says_what_is_open(self):
        for table in self.tables():
            self.assertGreater(len(table), 5)
            for row in table:
                self.assertTrue(row[0] and row[1], row)
                if row[2].startswith("open: "):
                    self.assertFalse(any(row[3:]), row)
                    continue
                found = re.fullmatch(r"`(\w+)\.(\w+)`", row[-1])
                self.assertTrue(found and all(row[2:]) or not row[3], row)
                self.assertTrue(re.search(rf"TEST\w*\({found[1]},\s+{found[2]}\)", self.code), row[-1])

    def test_reasons_are_those_of_orders_and_every_limit_has_a_row(self):
        before = next(self.tables())
        for row in before:
            for reason in re.findall(r"`(\w+)`", row[3] + row[4]):
                self.assertIn(reason, self.reasons, row)
        named = {key for row in before for key in re.findall(r"`(\w+)`", row[2])}
        self.assertGreater(len(self.keys), 8)
        self.assertLessEqual(self.keys, named)


class Hardware(unittest.TestCase):
    def test_without_a_device_it_says_so(self):
        done = run("tests/hardware.sh", "--no-build", TICKPATH_SYS_INFINIBAND="/nowhere")
        self.assertEqual(done.returncode, 77, done.stderr)
        self.assertIn("no RDMA device in /nowhere", done.stderr)

    def test_a_port_that_is_down_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            port = pathlib.Path(folder) / "mlx5_0/ports/1"
            (port / "gids").mkdir(parents=True)
            (port / "state").write_text("1: DOWN\n")
            (port / "gids/0").write_text("fe80:0000:0000:0000:0000:0000:0000:0001\n")
            (port / "gids/1").write_text("0000:0000:0000:0000:0000:0000:0000:0000\n")
            done = run("tests/hardware.sh", "--no-build", TICKPATH_SYS_INFINIBAND=folder)
        self.assertEqual(done.returncode, 77, done.stderr)
        self.assertIn("no active port with an IPv4 address (mlx5_0 port 1: 1: DOWN)", done.stderr)

    def test_the_device_is_that_of_the_address(self):
        def port(device, state, *addresses):
            return {"device": device, "port": 2, "state": state, "addresses": addresses}
        found = [port("mlx5_0", "1: DOWN"), port("irdma0", "4: ACTIVE"), port("mlx5_1", "4: ACTIVE", "10.77.0.1")]
        self.assertEqual(hardware.device_at(found, "10.77.0.1"), ("mlx5_1", 2))
        self.assertEqual(hardware.device_at(found, "10.77.0.2"), ("irdma0", 2))
        self.assertEqual(hardware.device_at([], "10.77.0.1"), ("", 1))

    def test_dead_after_is_held_against_what_the_device_repeats(self):
        rxe = [4.3, 8.5, 12.7, 16.9, 21.1, 25.3, 29.5, 33.7]
        self.assertEqual(hardware.judge_silence(rxe), (6, 20))
        adaptive = [2.1, 6.2, 14.3, 29.9, 60, 125, 250, 500]
        self.assertEqual(hardware.judge_silence(adaptive), (3, 21))
        floor = [500.0 * tries for tries in range(1, 9)]
        self.assertEqual(hardware.judge_silence(floor), (0, 1507))
        with self.assertRaises(hardware.Failed):
            hardware.judge_silence([0] * 8)

    def dry_run(self, folder, ports, networks, addresses):
        """ports: {device: {port: (state, {index: (gid, interface)})}}; networks: {interface: hardware address}."""
        root = pathlib.Path(folder)

        def put(path, text):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n")
        for device, its in ports.items():
            put(root / "infiniband" / device / "node_type", "7: unspecified" if device.startswith("efa") else "1: CA")
            for number, (state, gids) in its.items():
                port = root / "infiniband" / device / "ports" / str(number)
                put(port / "state", state)
                for index, (gid, interface) in gids.items():
                    put(port / "gids" / str(index), gid)
                    if interface:
                        put(port / "gid_attrs/ndevs" / str(index), interface)
        for interface, address in networks.items():
            put(root / "net" / interface / "address", address)
        for interface, address in addresses.items():
            put(root / "ip" / interface, json.dumps([{"addr_info": [{"local": address}]}]))
        put(root / "bin/ip", f"#!/bin/sh\nexec cat {root}/ip/$6 2>&-")
        (root / "bin/ip").chmod(0o755)
        return run("tests/hardware.sh", "--dry-run", PATH=f"{root}/bin:{os.environ['PATH']}",
                   TICKPATH_SYS_INFINIBAND=str(root / "infiniband"), TICKPATH_SYS_NET=str(root / "net"))

    def test_each_step_names_the_device_that_has_the_address(self):
        gids = {0: ("fe80:0000:0000:0000:0000:0000:0000:0001", "eth1")}
        for ports, device, number in (({"mlx5_0": {1: ("4: ACTIVE", {})}, "mlx5_1": {1: ("4: ACTIVE", gids)}}, "mlx5_1", 1),
                                      ({"mlx4_0": {1: ("4: ACTIVE", {}), 2: ("4: ACTIVE", gids)}}, "mlx4_0", 2)):
            with tempfile.TemporaryDirectory() as folder:
                done = self.dry_run(folder, ports, {}, {"eth1": "10.0.1.1"})
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn(f"trying {device} at 10.0.1.1", done.stdout)
            for command in re.findall(r"^   (.* --provider verbs .*|.*tickpath (?:lat|bw|up) .*)$", done.stdout, re.M):
                if "table.sh" not in command:
                    self.assertIn("10.0.1.1", command)
                    self.assertTrue("--device 10.0.1.1" in command or "fabric.device=10.0.1.1" in command, command)
            benches = re.findall(r"^   (.*/bench/.*)$", done.stdout, re.M)
            self.assertEqual(len(benches), 3, done.stdout)
            for command in benches:
                self.assertIn(f"--device {device} --device-port {number}", command)

    def test_an_infiniband_port_is_tried_at_its_ipoib_address(self):
        guid = "fe80:0000:0000:0000:0002:c903:0000:0001"
        hardware_address = "80:00:00:48:fe:80:00:00:00:00:00:00:00:02:c9:03:00:00:00:01"
        with tempfile.TemporaryDirectory() as folder:
            done = self.dry_run(folder, {"mlx5_0": {1: ("4: ACTIVE", {0: (guid, "")})}},
                                {"eth0": "02:00:00:00:00:01", "ib0": hardware_address},
                                {"eth0": "192.168.0.1", "ib0": "10.0.0.1"})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("trying mlx5_0 at 10.0.0.1", done.stdout)

    def test_a_device_without_reliable_connections_is_named(self):
        """Amazon's EFA: an active port, an address, and no RC."""
        gids = {0: ("fe80:0000:0000:0000:0000:0000:0000:0001", "")}
        with tempfile.TemporaryDirectory() as folder:
            done = self.dry_run(folder, {"efa_0": {1: ("4: ACTIVE", gids)}}, {}, {})
        self.assertEqual(done.returncode, 77, done.stdout + done.stderr)
        self.assertIn("efa_0: no reliable connections", done.stderr)

    def test_a_virtual_function_beside_one_is_tried(self):
        gids = {0: ("0000:0000:0000:0000:0000:ffff:0a00:0001", "eth1")}
        with tempfile.TemporaryDirectory() as folder:
            done = self.dry_run(folder, {"efa_0": {1: ("4: ACTIVE", {})}, "mlx5_2": {1: ("4: ACTIVE", gids)}}, {}, {"eth1": "10.0.0.1"})
            self.assertIn("trying mlx5_2 at 10.0.0.1", done.stdout)

    def test_a_device_without_a_pci_slot_is_software(self):
        with tempfile.TemporaryDirectory() as folder:
            device = pathlib.Path(folder)
            self.assertEqual(hardware.slot_of(device), "")
            (device / "device").mkdir()
            (device / "device/uevent").write_text("DRIVER=mlx5_core\nPCI_SLOT_NAME=0000:3b:00.0\n")
            self.assertEqual(hardware.slot_of(device), "0000:3b:00.0")

    def test_an_unknown_step_is_refused_with_the_list(self):
        done = run("tests/hardware.sh", "--no-build", "--only", "everything")
        self.assertEqual(done.returncode, 2)
        self.assertIn("conformance", done.stderr)


if __name__ == "__main__":
    unittest.main()
