"""The transactions of all transactional ids: described, and ended at rest."""

from collections.abc import Mapping
from contextlib import suppress

from conformance.core.bench import Bench
from conformance.core.executor import UNANSWERED
from conformance.core.roles import Absent, Roles
from conformance.judging.producers.outcomes import ENDED, MARKER_TIMEOUT
from conformance.judging.producers.refusals import LOAD_TIMEOUT
from conformance.machines.producers.clients import Client
from conformance.machines.producers.python import PythonProducers
from conformance.rigs.log.partition import Partition
from fixtures.wire import NodeClient, WireError
from protocol.codes import Error
from strategies import producers as do

ONE_MORE = 3.0
"""Seconds beyond a bound, so that an answer after it is seen."""


class Transactions:
    """An example's transactional ids. `after_python` is the last instance of kafka-python's id."""

    def __init__(
        self,
        bench: Bench,
        roles: Roles,
        partitions: Mapping[str, Partition],
        clients: Mapping[do.ProducerName, Client],
        python: PythonProducers,
        after_python: Client,
    ) -> None:
        self._bench = bench
        self._roles = roles
        self._partitions = partitions
        self._python = python
        self._after_python = after_python
        self._clients = [*(one for one in clients.values() if one.transactional), after_python]

    def describe(self, step: do.Describe) -> None:
        for client in self._clients:
            with suppress(WireError, Absent):
                client.coordinator().describe_transaction(client.producer.transactional_id)
        for broker in self._roles.running_brokers():
            with suppress(WireError):
                self._bench.node(broker).list_transactions()
                self._describe_producers(self._bench.node(broker))

    def _describe_producers(self, node: NodeClient) -> None:
        for partition in self._partitions.values():
            node.describe_producers(partition.name, partition.index)

    def begin_last_instances(self) -> None:
        """Begin a last instance of each used transactional id: the coordinator grants a producer id only once the
        previous transaction's markers are written."""
        what = "a last instance of each transactional id"
        self._bench.wait.becomes_true(self._all_begin, what, LOAD_TIMEOUT + ONE_MORE)

    def _all_begin(self) -> bool:
        known = [one for one in self._clients if one.producer.epoch >= 0]
        known += [self._after_python] if self._python.has_begun(do.PYTHON_TRANSACTIONAL) else []
        begun = [self._begins(one) for one in known]
        return all(begun)

    def _begins(self, client: Client) -> bool:
        with suppress(*UNANSWERED, Absent):
            if not client.closed:
                client.init()
                client.closed = True
            return True
        return False

    def await_ends(self) -> None:
        """Wait until coordinators describe no transaction as open."""
        self._bench.wait.becomes_true(self._all_ended, "no transaction is open", MARKER_TIMEOUT)

    def _all_ended(self) -> bool:
        return all(self._has_ended(one) for one in self._clients)

    def _has_ended(self, client: Client) -> bool:
        with suppress(*UNANSWERED, Absent):
            described = client.coordinator().describe_transaction(client.producer.transactional_id)
            return described.error is not Error.NONE or described.state in ENDED
        return False
