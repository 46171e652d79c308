"""The effects of faults in histories that were written before an injection carried its effects.

The table has every fault tag written until then, with what the judges of that time took it for: less than what the fault did,
if the tag alone does not tell. Since then only effects that those judges did not know were added: retention, appends, cut-off
nodes. A tag that is not in the table may have restarted a process.
"""

from __future__ import annotations

from typing import Any

import msgspec

from history.effects import Effects

RUNS = Effects()
MAY_RESTART = Effects(process="may-restart")
CLEAN_ELECTION = Effects(election="clean")
APPENDS = Effects(appends=True)
CUT_OFF = Effects(cut_off=True)
EPOCHS_LOST = Effects(process="down", disk=("epoch-checkpoint",), appends=True)
UNCLEAN_ELECTION = Effects(process="may-restart", every_broker=True, election="unclean", appends=True)
"""To elect uncleanly the other brokers are killed or frozen too, and come back."""

TABLE: dict[str, Effects] = {
    "bridge": RUNS,
    "clock-shift": Effects(process="may-restart", moves_log_start=True),
    "compaction": RUNS,
    "cut-at-request": RUNS,
    "cut-epoch-checkpoint": EPOCHS_LOST,
    "cut-off-from-controllers": CUT_OFF,
    "cut-tail-above": Effects(process="down", abrupt=True, disk=("log-tail",), appends=True),
    "cut-tail-below": Effects(process="down", disk=("log-tail",), appends=True),
    "delay": RUNS,
    "delete-records": Effects(moves_log_start=True, start_inside_segment=True, appends=True),
    "drop": RUNS,
    "drop-answer": RUNS,
    "failed-directory": MAY_RESTART,
    "fenced-producer": RUNS,
    "flip-bytes": Effects(process="down", disk=("log-bytes",), appends=True),
    "full-disk": Effects(process="may-restart", appends=True),
    "halves": RUNS,
    "hold": RUNS,
    "isolate": CUT_OFF,
    "isolated-controller-leader": CUT_OFF,
    "kill": Effects(process="down", abrupt=True),
    "late-consumer": RUNS,
    "late-member": RUNS,
    "leader-move": Effects(election="clean", stands=False),
    "lose-quorum-state": Effects(process="may-restart", disk=("quorum-state",)),
    "loss": RUNS,
    "move-coordinator": CLEAN_ELECTION,
    "move-leader": CLEAN_ELECTION,
    "old-epoch-checkpoint": EPOCHS_LOST,
    "one-link": RUNS,
    # Written by one fault that has resumed the process by its witness, and by one that has not.
    "pause": RUNS,
    "pause-past-fencing": Effects(process="frozen"),
    # Resumed by its witness.
    "paused-zombie": RUNS,
    "preferred-election": CLEAN_ELECTION,
    "rate-limit": RUNS,
    "reassignment": Effects(moves_replicas=True),
    "recreate-topic": RUNS,
    "reject": RUNS,
    "remove-epoch-checkpoint": EPOCHS_LOST,
    "remove-index-files": Effects(process="down", disk=("index",), appends=True),
    "remove-watermark-checkpoint": Effects(process="may-restart", disk=("watermark-checkpoint",), appends=True),
    "retention-by-size": Effects(moves_log_start=True, retention="by-size", appends=True),
    "retention-by-time": Effects(moves_log_start=True, retention="by-time", appends=True),
    "ring": RUNS,
    "roll-by-size": APPENDS,
    "roll-by-time": APPENDS,
    "rolling-restart": Effects(process="restarts"),
    "stop": Effects(process="down"),
    "unclean-election": UNCLEAN_ELECTION,
    "unclean-election-by-config": UNCLEAN_ELECTION,
    "upgrade": Effects(process="restarts"),
    "wipe-disk": Effects(process="down", disk=("log-dir",), every_partition=True, appends=True),
}


def legacy_effects(fault: str, detail: dict[str, Any]) -> Effects:
    """The effects of a fault by its tag and the parameters of its injection."""
    effects = TABLE.get(fault, MAY_RESTART)
    if effects.elects_uncleanly and detail.get("own_topic", False):
        # Of a topic that the fault had made for itself.
        return msgspec.structs.replace(effects, election="none", appends=False)
    return effects
