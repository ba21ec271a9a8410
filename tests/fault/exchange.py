"""What the exchange itself has said of our orders, from the message store of its FIX session (sim.*.fixstore): a judge that
is none of those who are judged. Layout of the file: common/fix/detail/message_store.hpp; tags: FIX 4.2, ExecutionReport."""
import collections
import datetime
import json
import struct

HEADER = struct.Struct("<8sII")
SLOT = struct.Struct("<II")
ORDER_ID_STRATEGY = 48  # wire::OrderId: the strategy stands in the highest 16 bits


def reports(path):
    """(ExecutionReports as dicts of tag to value, what is wrong with the store), each message once, in order."""
    data = path.read_bytes()
    magic, slots, slot_bytes = HEADER.unpack_from(data)
    if magic != b"tkfixst1":
        return [], [f"{path.name} is no message store of this version"]
    found = {}
    for slot in range(slots):
        at = 4096 + slot * slot_bytes
        seq, length = SLOT.unpack_from(data, at)
        if seq:
            found[seq] = data[at + SLOT.size:at + SLOT.size + length]
    if found and (min(found) != 1 or max(found) != len(found)):
        return [], [f"{path.name} has not every message: {len(found)} of {max(found)}"]
    messages = [dict(field.split(b"=", 1) for field in found[seq].split(b"\1") if field) for seq in sorted(found)]
    return [each for each in messages if each[b"35"] == b"8"], []


def problems(run_dir, strategies="strategy"):
    """(what the exchange's own reports and a strategy program's account of itself do not agree in, orders accepted, fills)"""
    (store,) = run_dir.glob("sim.*.fixstore")
    told, wrong = reports(store)
    if wrong:  # a long run has overwritten what came first
        return wrong, 0, 0
    account = json.loads((run_dir / f"{strategies}.summary.json").read_text())
    accepted = collections.Counter(each[b"11"] for each in told if each[b"150"] == b"0" and each[b"20"] == b"0")
    executions = collections.Counter(each[b"17"] for each in told)
    wrong += [f"ClOrdID {name.decode()} was accepted {times} times" for name, times in accepted.items() if times > 1]
    wrong += [f"ExecID {name.decode()} was reported {times} times" for name, times in executions.items() if times > 1]
    # An order whose report died with an oeg, and that was over by then without a fill, is lost to its strategy.
    known, lost = account["orders"]["accepted"], account["orders"]["lost"]
    if not known <= len(accepted) <= known + lost:
        wrong.append(f"{len(accepted)} orders were accepted, by what strategies know {known}, and {lost} lost with an oeg")
    held, fills = collections.Counter(), 0
    for each in told:
        # A correction of sim's is to what it was, and what sim cancels was never reported (correct_every, misreport_every).
        if each[b"150"] not in (b"1", b"2") or each[b"20"] in (b"1", b"2"):
            continue
        fills += 1
        sign = 1 if each[b"54"] == b"1" else -1
        held[int(each[b"11"]) >> ORDER_ID_STRATEGY, each[b"55"].decode()] += sign * int(each[b"32"])
    positions = {(row["strategy_id"], row["symbol"]): row["shares"] for row in account["positions"]}
    for holder in sorted(held.keys() | positions.keys()):
        if held.get(holder, 0) != positions.get(holder, 0):
            wrong.append(f"strategy {holder[0]} holds {positions.get(holder, 0)} of {holder[1]}, by its fills {held.get(holder, 0)}")
    return wrong, len(accepted), fills


def sent_at(message):
    """When, by the exchange's clock; as time.time()."""
    return datetime.datetime.strptime(message[b"52"].decode() + "+0000", "%Y%m%d-%H:%M:%S.%f%z").timestamp()


def longest_pause(run_dir, began, ended):
    """(orders accepted, longest ms without one) between those two moments (time.time()), by the exchange's SendingTime."""
    (store,) = run_dir.glob("sim.*.fixstore")
    times = [sent_at(each) for each in reports(store)[0] if each[b"150"] == b"0" and each[b"20"] == b"0"]
    times = [time for time in times if began <= time <= ended]
    return len(times), max((later - one for one, later in zip(times, times[1:])), default=float("inf")) * 1000
