"""The clusters on which checks run. There are few of them, since each costs a boot per column."""

import re
from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from conformance.catalogue.applicability import in_range
from fixtures.cluster import Topology
from fixtures.cluster.config import OWN_SETTINGS
from fixtures.faults.lab import DIRECTORIES, QUICK

PROMPT_GROUPS = {
    "group.consumer.assignment.interval.ms": "0",
    "group.consumer.min.session.timeout.ms": "5000",
    "group.coordinator.append.linger.ms": "0",
    "group.streams.assignment.interval.ms": "0",
    "group.streams.initial.rebalance.delay.ms": "0",
}
"""Settings for a group coordinator that assigns and answers without delay and allows short sessions. Releases ignore settings
that they do not know."""

COMBINED = Topology(
    name="combined",
    combined=True,
    brokers=1,
    config={
        **PROMPT_GROUPS,
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "100",
        "log.flush.offset.checkpoint.interval.ms": "500",
        "log.initial.task.delay.ms": "500",
    },
)
"""One combined node, for nearly all of KIP-360. It looks for timed-out transactions ten times a second, and writes recovery
points often and soon after a start, so that after a crash only the last segment of a log is recovered."""

MEASURED = msgspec.structs.replace(COMBINED, name="measured", metrics=True)
"""The combined node with metrics that the kit can read."""

FORMER_LEVEL = msgspec.structs.replace(COMBINED, name="former-level", features={"metadata.version": "4.0-IV3"})
"""The combined node at the metadata.version of Kafka 4.0, so that 4.0 and later releases can start on its data: for upgrades
(KIP-1251)."""

GROUPS = msgspec.structs.replace(COMBINED, name="groups")
"""The combined node with the consumer protocol (KIP-848), for KIP-1251.

It is a separate cluster only in releases where the protocol must be enabled: that brings a group coordinator which users of these
releases do not have, and which rows of other KIPs are not about.
"""


EXPIRY_SECONDS = 3.0
"""Seconds after which the brokers of EXPIRING forget idle producers, and its coordinators idle transactional ids."""
EXPIRING = msgspec.structs.replace(
    COMBINED,
    name="expiring",
    config={
        **COMBINED.config,
        "producer.id.expiration.ms": str(int(EXPIRY_SECONDS * 1000)),
        "producer.id.expiration.check.interval.ms": "200",
        "transactional.id.expiration.ms": str(int(EXPIRY_SECONDS * 1000)),
        "transaction.remove.expired.transaction.cleanup.interval.ms": "200",
    },
)
"""A combined node that soon forgets producers, separate from the node on which other probes leave producers idle. Kafka 3.3 looks
for idle producers only at its start and every ten minutes, whatever is configured."""

_OPTED_IN = {"group.coordinator.rebalance.protocols": "classic,consumer"}
_OPTED_IN_3_7 = {"unstable.api.versions.enable": "true", "transaction.partition.verification.enable": "false"}
"""Further settings for 3.7. ConsumerGroupDescribe, which reads back premises, is the one API that 3.7 has and does not offer. Its
new coordinator supports transactional offsets, but only 3.8 added their verification (KAFKA-14505): with verification enabled,
3.7 rejects them all."""
_NOTHING: Mapping[str, str] = MappingProxyType({})


def adapt_topology(
    topology: Topology, version: str, features: Mapping[str, str] = _NOTHING, properties: Mapping[str, str] = _NOTHING
) -> Topology:
    """Return a topology adapted to this version, with the user's feature levels and settings."""
    if topology.name == GROUPS.name:
        topology = _with_consumer_protocol(version)
    if topology.name in (CONSUMER_GROUPS.name, BATCHED_GROUPS.name):
        topology = msgspec.structs.replace(topology, config={**topology.config, **_opted_in(version)})
    if topology.name == LOG_DIRECTORIES.name and re.match(r"3\.[0-6]\b", version):
        topology = QUICK_CLUSTER
    return msgspec.structs.replace(
        topology,
        features={**topology.features, **features},
        config={**topology.config, **properties},
    )


def knows_level(topology: Topology, version: str) -> bool:
    """True if a release knows the metadata.version at which the topology's nodes are formatted (`3.9-IV0`), if it names one."""
    level = topology.features.get("metadata.version", "")
    return not level or in_range(version, f"{level.partition('-')[0]}..")


def where_kit_sets(setting: str) -> str:
    """Return a description of where the kit sets this node setting; empty if it does not."""
    if setting in OWN_SETTINGS:
        return "on every node"
    if setting in {**_OPTED_IN, **_OPTED_IN_3_7}:
        return f"on clusters of groups of Kafka 3.7 to 3.9, as {GROUPS.name!r}"
    places = [f"on cluster {one.name!r}" for one in TOPOLOGIES if setting in one.config]
    return places[0] if places else ""


def _with_consumer_protocol(version: str) -> Topology:
    opted_in = _opted_in(version)
    return msgspec.structs.replace(GROUPS, config={**GROUPS.config, **opted_in}) if opted_in else COMBINED


def _opted_in(version: str) -> Mapping[str, str]:
    """Return the settings that enable the consumer protocol in a release with its preview."""
    if not re.match(r"3\.[789]\b", version):
        return _NOTHING
    return {**_OPTED_IN, **(_OPTED_IN_3_7 if version.startswith("3.7.") else {})}


CLUSTER = Topology(name="cluster", controllers=1, brokers=3)
"""One controller and three brokers: KIP-101 and KIP-320."""

CONTROLLERS = Topology(name="quorum", controllers=3, brokers=3)
"""Three controllers and three brokers, for those requests of KIP-595 that a client may send without harm."""

FROZEN_VOTER = Topology(
    name="frozen-voter",
    controllers=1,
    brokers=0,
    scripted=(2, 3),
    config={
        "controller.quorum.election.timeout.ms": "600000",
        "controller.quorum.fetch.timeout.ms": "600000",
        "controller.quorum.request.timeout.ms": "300",
        "metadata.max.idle.interval.ms": "50",
    },
)
"""One controller of a quorum of three; the kit plays the other two voters. It never starts an election by itself.

As leader it appends a no-op record every 50 ms, so that there is something to commit.
"""

EXPENDABLE_VOTER = msgspec.structs.replace(FROZEN_VOTER, name="expendable-voter")
"""The same for requests and files from which the voter may end; then it is created again on an empty disk."""

ADMINISTRATOR, BYSTANDER, NODE, READER = "administrator", "bystander", "node", "reader"
"""Users of a cluster that asks for their rights. The first one may do everything; the others may do nothing at first."""

_LOGIN = " ".join(
    [
        "org.apache.kafka.common.security.plain.PlainLoginModule required",
        f'username="{ADMINISTRATOR}" password="{ADMINISTRATOR}"',
        *(f'user_{user}="{user}"' for user in (ADMINISTRATOR, BYSTANDER, NODE, READER)),
    ]
)

SECURED = Topology(
    name="secured",
    controllers=1,
    brokers=1,
    user=ADMINISTRATOR,
    config={
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "listener.name.controller.plain.sasl.jaas.config": f"{_LOGIN};",
        "listener.name.host.plain.sasl.jaas.config": f"{_LOGIN};",
        "listener.security.protocol.map": "CONTROLLER:SASL_PLAINTEXT,INTERNAL:PLAINTEXT,HOST:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "super.users": f"User:{ADMINISTRATOR};User:ANONYMOUS",
    },
)
"""A controller and a broker that ask clients to log in, and a controller that asks for their rights. Only the broker itself uses
its listener without a login."""

FIRST_START = Topology(name="first-start", controllers=3, brokers=0)
"""Three controllers that are created again one by one, as at the first start of a cluster."""

LIVE = {
    "controller.quorum.election.timeout.ms": "500",
    "controller.quorum.election.backoff.max.ms": "500",
    "controller.quorum.fetch.timeout.ms": "1000",
    "controller.quorum.request.timeout.ms": "300",
    "metadata.max.idle.interval.ms": "50",
    "metadata.log.max.record.bytes.between.snapshots": "2000",
}
"""Settings of a voter that soon stands for election and soon gives up; its log soon has a snapshot."""

LIVE_VOTER = Topology(name="live-voter", controllers=1, brokers=0, scripted=(2, 3), config=LIVE)
"""One controller of a quorum of three whose other two voters the kit plays. It stands for election within a second of
silence."""

LIVE_VOTER_OF_FIVE = Topology(name="live-voter-5", controllers=1, brokers=0, scripted=(2, 3, 4, 5), config=LIVE)
"""The same in a quorum of five."""

DEFAULT_FETCH_TIMEOUT = 2.0
"""The seconds of controller.quorum.fetch.timeout.ms that Kafka sets by itself."""

LIVE_VOTER_AT_DEFAULTS = Topology(name="live-voter-defaults", controllers=1, brokers=0, scripted=(2, 3))
"""The same of three with Kafka's own timeouts."""

MIXED_QUORUM = Topology(
    name="mixed-quorum",
    controllers=3,
    brokers=1,
    scripted=(2, 3),
    config={"controller.quorum.fetch.timeout.ms": "4000", "metadata.log.max.record.bytes.between.snapshots": "2000"},
)
"""Three real voters of five, and an observing broker; the kit plays the other two voters.

The three are a majority; with one of them gone, every election and commit needs the kit's help. A leader without a majority
resigns after the fetch timeout. The metadata log soon has a snapshot.
"""

QUORUM_LAB = Topology(
    name="quorum-lab",
    controllers=3,
    brokers=1,
    metrics=True,
    config={"metadata.log.max.record.bytes.between.snapshots": "2000"},
)
"""Three controllers with the default timeouts and a broker, all with metrics, for checks that lose controllers. Every 2,000
bytes of metadata each node writes a snapshot."""

LONG_FETCH_TIMEOUT = 10.0
"""The fetch timeout of SLOW_QUORUM in seconds: twice the time within which a graceful handover ends."""
SLOW_QUORUM = msgspec.structs.replace(
    QUORUM_LAB,
    name="slow-quorum",
    config={**QUORUM_LAB.config, "controller.quorum.fetch.timeout.ms": str(int(LONG_FETCH_TIMEOUT * 1000))},
)
"""The same with a long fetch timeout: followers wait that long for a leader that is gone, unless it tells them."""

SHORT_LOG = msgspec.structs.replace(
    QUORUM_LAB, name="short-log", metrics=False, config={**QUORUM_LAB.config, "metadata.max.retention.bytes": "2000"}
)
"""The same without metrics, where controllers keep no more of the log than they need behind their newest snapshots: they look for
what to remove once a minute."""

UPGRADED_QUORUM = Topology(name="upgraded-quorum", controllers=3, brokers=1, features={"metadata.version": "3.9-IV0"})
"""Three controllers and a broker at the metadata.version of Kafka 3.9, so that voters of 3.9 can be among newer ones."""

TWO_DISKS = Topology(name="two-disks", controllers=1, brokers=1, config=DIRECTORIES)
"""A broker with two log directories."""

QUICK_CLUSTER = Topology(name="quick", controllers=1, brokers=3, config=QUICK)
"""One controller and three brokers with the fault lab's short timeouts, for checks that break brokers: the log machine and the
schedules."""

LOG_QUORUM = Topology(
    name="log-quorum",
    controllers=3,
    brokers=3,
    racks=True,
    config={
        **QUICK,
        "metadata.log.max.record.bytes.between.snapshots": "20000",
        "replica.lag.time.max.ms": "5000",
        "replica.fetch.wait.max.ms": "2000",
        "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
    },
)
"""Three controllers, some of which the log machine can lose, and three brokers. Followers leave the ISR after five seconds, and
learn the high watermark up to two seconds after a lone record. Leaders refer a consumer to the replica in its rack. After every
20,000 bytes of metadata each node writes a snapshot, so that snapshots can be compared."""

LOG_PROMPT = Topology(
    name="log-prompt",
    controllers=1,
    brokers=3,
    config={
        **QUICK,
        "replica.lag.time.max.ms": "1000",
        "replica.fetch.wait.max.ms": "500",
        "replica.high.watermark.checkpoint.interval.ms": "500",
        "log.flush.start.offset.checkpoint.interval.ms": "500",
    },
)
"""One controller and three brokers that act early: followers soon leave the ISR, and checkpoints are soon written."""

LOG_DIRECTORIES = Topology(name="log-directories", controllers=1, brokers=3, config={**QUICK, **DIRECTORIES})
"""Brokers with two log directories each, one of which can fail.

Before Kafka 3.7 (KIP-858) controllers do not know the replicas' directories, so the quick cluster is used instead.
"""

LAGGING = Topology(
    name="lagging",
    controllers=1,
    brokers=3,
    config={
        **QUICK,
        "replica.fetch.wait.max.ms": "5000",
        "log.flush.start.offset.checkpoint.interval.ms": "200",
    },
)
"""The quick cluster with two changes: a follower learns the high watermark only with a record or after five seconds, and the log
start offset is checkpointed soon, so that it survives a crash."""

LAG = 2.0
"""Seconds without a fetch up to the log end after which a leader of SHRINKING wants a follower out of the ISR."""
SHRINKING = Topology(
    name="shrinking",
    controllers=1,
    brokers=3,
    config={**QUICK, "replica.lag.time.max.ms": str(int(LAG * 1000))},
)
"""The quick cluster for leaders without controllers: within seconds they request a smaller ISR, but must not shrink it on their
own."""

TRANSACTIONS = Topology(
    name="transactions",
    controllers=1,
    brokers=3,
    config={
        **QUICK,
        **PROMPT_GROUPS,
        "broker.session.timeout.ms": "3000",
        "group.consumer.heartbeat.interval.ms": "5000",
        "group.consumer.session.timeout.ms": "45000",
        "offsets.topic.num.partitions": "3",
        "transaction.state.log.num.partitions": "3",
        "transaction.state.log.replication.factor": "2",
        "transaction.state.log.min.isr": "1",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "100",
    },
)
"""Three brokers for producers. The coordinators' topics have several partitions, whose leaders are not those of the written
partitions.

Each coordinator's log is on two brokers. The third can be frozen without delaying a coordinator's decision, and remains leader
for three seconds, which leaves time for requests while its markers are pending.
"""

FORMER_LEVEL_BROKERS = msgspec.structs.replace(
    TRANSACTIONS, name="former-level-brokers", features=FORMER_LEVEL.features
)
"""The brokers of TRANSACTIONS at the metadata.version of Kafka 4.0, so that one of them can run an older release."""

PRODUCERS = Topology(
    name="producers",
    controllers=1,
    brokers=3,
    config={
        **QUICK,
        "min.insync.replicas": "2",
        "replica.lag.time.max.ms": "2000",
        "offsets.topic.num.partitions": "3",
        "transaction.state.log.num.partitions": "3",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "100",
    },
)
"""Three brokers for the producer machine. The coordinators' logs are on all of them and need two in-sync replicas, as do
partitions. After two seconds a leader goes on without an unreachable broker; a coordinator soon retries the markers that it owes
such a broker."""

CONSUMER_GROUPS = Topology(
    name="consumer-groups",
    controllers=1,
    brokers=3,
    config={
        **PRODUCERS.config,
        **PROMPT_GROUPS,
        "group.consumer.heartbeat.interval.ms": "5000",
        "group.consumer.min.session.timeout.ms": "1000",
        "group.consumer.session.timeout.ms": "45000",
        "group.consumer.migration.policy": "bidirectional",
        "offsets.commit.timeout.ms": "1500",
    },
)
"""Three brokers for the group machine. The offsets topic has three partitions, each on all brokers, and needs two in-sync
replicas. Members heartbeat by steps, so that sessions are as long as by default, unless a group's own configuration shortens
them. A coordinator that cannot write soon says so, since each step would wait for it."""

BATCHED_GROUPS = msgspec.structs.replace(
    CONSUMER_GROUPS,
    name="batched-groups",
    config={
        **CONSUMER_GROUPS.config,
        "group.coordinator.append.linger.ms": "10",
        "group.consumer.assignment.interval.ms": "1000",
    },
)
"""The same with delays as users have them: coordinators append batches of records, and assign once a second."""

TOPOLOGIES = (
    COMBINED, EXPIRING, MEASURED, FORMER_LEVEL, FORMER_LEVEL_BROKERS, GROUPS, CLUSTER, CONTROLLERS, FROZEN_VOTER,
    EXPENDABLE_VOTER, SECURED, FIRST_START, LIVE_VOTER, LIVE_VOTER_OF_FIVE, LIVE_VOTER_AT_DEFAULTS, MIXED_QUORUM,
    QUORUM_LAB, SLOW_QUORUM, SHORT_LOG, UPGRADED_QUORUM, TWO_DISKS, QUICK_CLUSTER, LOG_QUORUM, LOG_PROMPT,
    LOG_DIRECTORIES, LAGGING, SHRINKING, TRANSACTIONS, PRODUCERS, CONSUMER_GROUPS, BATCHED_GROUPS,
)  # fmt: skip
"""All clusters that checks run on."""
