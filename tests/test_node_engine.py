"""What a node makes of an engine that refuses: it tries again what passes by itself, and tells all else in its words."""

from collections.abc import Iterator
from typing import Any

import docker.errors
import pytest
import requests

from fixtures.cluster import node as module
from fixtures.cluster.extras import NO_EXTRAS
from fixtures.cluster.node import Node
from fixtures.cluster.topology import Member, Topology
from fixtures.errors import EngineTrouble


def refusal(said: str) -> docker.errors.APIError:
    return docker.errors.APIError("500 Server Error", explanation=said)


class Container:
    """Refuses with each of the errors in turn, then does it."""

    def __init__(self, *errors: Exception) -> None:
        self._errors: Iterator[Exception] = iter(errors)
        self.pauses = 0

    def pause(self) -> None:
        self.pauses += 1
        for error in self._errors:
            raise error


def node_on(container: Any) -> Node:
    node = object.__new__(Node)
    node.name, node._container = "broker-1", container
    return node


def test_a_process_that_cannot_be_frozen_just_now_is_frozen_a_moment_later() -> None:
    container = Container(refusal("OCI runtime pause failed: unable to freeze: unknown"))
    node_on(container).pause()
    assert container.pauses == 2


def test_one_that_never_can_is_trouble_of_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PASSES_WITHIN", 0.0)
    container = Container(*[refusal("unable to freeze")] * 3)
    with pytest.raises(EngineTrouble, match="pausing broker-1, 1 times, failed, the engine says: unable to freeze"):
        node_on(container).pause()


def test_anything_else_is_told_at_once() -> None:
    container = Container(refusal("no such container"))
    with pytest.raises(EngineTrouble, match="pausing broker-1 failed, the engine says: no such container"):
        node_on(container).pause()
    assert container.pauses == 1


class Engine:
    """Makes the container, and then says nothing until the call is given up."""

    def __init__(self, name: str) -> None:
        self.there = {name}

    @property
    def containers(self) -> "Engine":
        return self

    def get(self, name: str) -> "Engine":
        if name not in self.there:
            raise docker.errors.NotFound(name)
        return self

    def remove(self, **_: object) -> None:
        self.there.clear()


def test_a_container_that_the_engine_made_without_saying_so_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(*_: object) -> None:
        raise requests.exceptions.ReadTimeout("read timed out")

    node: Any = node_on(None)
    node.member = Member(name="broker-1", id=1, role="broker")
    node._topology = Topology(name="one", brokers=1)
    node._volume, node.host_ports, node.extras = "run-broker-1", {}, NO_EXTRAS
    node._client = engine = Engine("run-broker-1")
    monkeypatch.setattr(module, "_start_with", silent)
    monkeypatch.setattr(Node, "_described", lambda _: None)
    with pytest.raises(EngineTrouble, match="starting broker-1 failed, the engine did not answer: read timed out"):
        node._run_container({})
    assert not engine.there


def test_an_engine_that_does_not_answer_a_removal_is_trouble_of_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(*_: object, **__: object) -> None:
        raise requests.exceptions.ReadTimeout("read timed out")

    node: Any = node_on(None)
    node._volume, node._client = "run-broker-1", Engine("run-broker-1")
    monkeypatch.setattr(Engine, "remove", silent)
    with pytest.raises(EngineTrouble, match="removing broker-1 failed, the engine did not answer: read timed out"):
        node.remove()
