"""For each bug a schedule of the topics machine that meets it, and schedules of what is legal."""

from __future__ import annotations

from fixtures.faults.kinds.process import Kill
from fixtures.faults.kinds.zombies import CutOffFromControllers
from strategies.steps import (
    AddPartitions,
    AlterConfig,
    CreateTopic,
    DeleteTopic,
    Disturb,
    Heal,
    ReadEverything,
    RecreateTopic,
)
from strategies.topics import (
    ANCHOR,
    CLEANER_BACKOFF,
    LIMIT,
    RETENTION,
    AlterOwnerConfig,
    MisassignPartitions,
    RefusedAlteration,
    TopicsStep,
)
from tests.miniature.planted import Planted
from tests.miniature.topics.bugs import BUGS

TOPIC = "topic-1"
CREATE = CreateTopic(on=TOPIC, partitions=2, replication_factor=1, configs={LIMIT: "2000"})
REFUSED_CREATION = CreateTopic(on=TOPIC, partitions=8, replication_factor=1, configs={RETENTION: "4100", LIMIT: "-5"})

SCHEDULES: dict[str, list[TopicsStep]] = {
    "refused-topic-created": [REFUSED_CREATION],
    "refused-alteration-half-applied": [CREATE, RefusedAlteration(on=TOPIC, key=LIMIT, value=2_050)],
    "refused-growth-grows": [CREATE, MisassignPartitions(on=TOPIC, total=10)],
    "foreign-topic-answered": [CREATE],
    "internal-error-answered": [REFUSED_CREATION],
    "first-configuration-described": [CREATE, ReadEverything(), AlterConfig(on=TOPIC, key=LIMIT, value="3000")],
    "deleted-value-kept": [CREATE, AlterConfig(on=TOPIC, key=LIMIT)],
    "limit-not-in-force": [CREATE],
}
LEGAL: dict[str, list[TopicsStep]] = {
    "refused, then created plainly": [REFUSED_CREATION, CREATE],
    "created again with other values": [CREATE, RecreateTopic(on=TOPIC, partitions=1, configs={RETENTION: "700000"})],
    "refused, created, and deleted": [REFUSED_CREATION, ReadEverything(), CREATE, DeleteTopic(on=TOPIC)],
    "altered while a broker is down": [
        CREATE,
        Disturb(on=ANCHOR, fault=Kill(role="follower")),
        AlterConfig(on=TOPIC, key=LIMIT, value="3000"),
        AddPartitions(on=TOPIC, total=3),
        Heal(),
    ],
    "described by a broker that is cut off from the controllers": [
        CREATE,
        Disturb(on=ANCHOR, fault=CutOffFromControllers(role="leader")),
        AlterConfig(on=TOPIC, key=LIMIT, value="3000"),
        AlterOwnerConfig(on="broker-2", key=CLEANER_BACKOFF, value=17_000),
        ReadEverything(),
        Heal(),
    ],
}
PLANTED = Planted(BUGS, SCHEDULES, LEGAL)
