"""For each bug a schedule of the topics machine that meets it, and legal schedules."""

from __future__ import annotations

from fixtures.faults.kinds.process import Kill
from fixtures.faults.kinds.zombies import CutOffFromControllers
from strategies import steps
from strategies import topics as do
from tests.miniature.planted import Planted
from tests.miniature.topics.bugs import BUGS

TOPIC = "topic-1"
CREATE = steps.CreateTopic(on=TOPIC, partitions=2, replication_factor=1, configs={do.LIMIT: "2000"})
REFUSED_CREATION = steps.CreateTopic(
    on=TOPIC, partitions=8, replication_factor=1, configs={do.RETENTION: "4100", do.LIMIT: "-5"}
)

SCHEDULES: dict[str, list[do.TopicsStep]] = {
    "refused-topic-created": [REFUSED_CREATION],
    "refused-alteration-half-applied": [CREATE, do.RefusedAlteration(on=TOPIC, key=do.LIMIT, value=2_050)],
    "refused-growth-grows": [CREATE, do.MisassignPartitions(on=TOPIC, total=10)],
    "foreign-topic-answered": [CREATE],
    "internal-error-answered": [REFUSED_CREATION],
    "first-configuration-described": [
        CREATE,
        steps.ReadEverything(),
        steps.AlterConfig(on=TOPIC, key=do.LIMIT, value="3000"),
    ],
    "deleted-value-kept": [CREATE, steps.AlterConfig(on=TOPIC, key=do.LIMIT)],
    "limit-not-in-force": [CREATE],
}
LEGAL: dict[str, list[do.TopicsStep]] = {
    "refused, then created plainly": [REFUSED_CREATION, CREATE],
    "created again with other values": [
        CREATE,
        steps.RecreateTopic(on=TOPIC, partitions=1, configs={do.RETENTION: "700000"}),
    ],
    "refused, created, and deleted": [REFUSED_CREATION, steps.ReadEverything(), CREATE, steps.DeleteTopic(on=TOPIC)],
    "altered while a broker is down": [
        CREATE,
        steps.Disturb(on=do.ANCHOR, fault=Kill(role="follower")),
        steps.AlterConfig(on=TOPIC, key=do.LIMIT, value="3000"),
        steps.AddPartitions(on=TOPIC, total=3),
        steps.Heal(),
    ],
    "described by a broker that is cut off from the controllers": [
        CREATE,
        steps.Disturb(on=do.ANCHOR, fault=CutOffFromControllers(role="leader")),
        steps.AlterConfig(on=TOPIC, key=do.LIMIT, value="3000"),
        do.AlterOwnerConfig(on="broker-2", key=do.CLEANER_BACKOFF, value=17_000),
        steps.ReadEverything(),
        steps.Heal(),
    ],
}
PLANTED = Planted(BUGS, SCHEDULES, LEGAL)
