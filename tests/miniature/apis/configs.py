"""DescribeConfigs, from a broker's metadata, and IncrementalAlterConfigs, at the controller."""

from __future__ import annotations

from typing import Any

from protocol.codes import Error
from tests.miniature.core.broker import Broker
from tests.miniature.core.cluster import MiniCluster
from tests.miniature.core.configs import (
    BROKER,
    DELETE,
    GROUP,
    KNOWN,
    SHORT_SESSIONS,
    TOPIC,
    Configs,
    Resource,
    altered,
    described,
)

Plain = dict[str, Any]

HEARS_ONCE = 3
"""The broker with the bug `first-configuration-described`."""


def describe_configs(broker: Broker, asked: Plain) -> Plain:
    return {"results": [_described(broker, resource) for resource in asked["resources"]]}


def _described(broker: Broker, asked: Plain) -> Plain:
    kind, name = int(asked["resource_type"]), asked["resource_name"]
    error = _undescribable(broker, kind, name)
    named = {"resource_type": kind, "resource_name": name, "error_code": error}
    if error is not Error.NONE:
        return {**named, "error_message": error.name, "configs": []}
    wanted = asked["configuration_keys"]
    keys = [key for key in KNOWN[kind] if wanted is None or key in wanted]
    configs = _configs_of(broker, (kind, name))
    if kind == BROKER and name == "":
        keys = [key for key in keys if key in configs.get((kind, name), {})]
    return {**named, "error_message": None, "configs": [_config(configs, (kind, name), key, broker.id) for key in keys]}


def _undescribable(broker: Broker, kind: int, name: str) -> Error:
    if kind not in KNOWN:
        return Error.INVALID_REQUEST
    if kind == TOPIC and not any(key[0] == name for key in broker.views):
        return Error.UNKNOWN_TOPIC_OR_PARTITION
    return Error.INVALID_REQUEST if kind == BROKER and name not in ("", str(broker.id)) else Error.NONE


def _configs_of(broker: Broker, resource: Resource) -> Configs:
    if broker.id == HEARS_ONCE and "first-configuration-described" in broker.cluster.bugs:
        return {**broker.configs, resource: broker.first_configs.get(resource, {})}
    return broker.configs


def _config(configs: Configs, resource: Resource, key: str, broker: int) -> Plain:
    value, source = described(configs, resource, key, broker)
    return {"name": key, "value": value, "read_only": False, "config_source": source, "is_sensitive": False}


def incremental_alter_configs(broker: Broker, asked: Plain) -> Plain:
    answers = [_altered(broker.cluster, resource, asked["validate_only"]) for resource in asked["resources"]]
    return {"responses": answers}


def _altered(cluster: MiniCluster, asked: Plain, validate_only: bool) -> Plain:
    resource = (int(asked["resource_type"]), asked["resource_name"])
    before = cluster.controller.configs.get(resource, {})
    changes = asked["configs"]
    if "deleted-value-kept" in cluster.bugs:
        changes = [change for change in changes if change["config_operation"] != DELETE]
    error = _unalterable(cluster, resource)
    if error is Error.NONE:
        of_members = resource[0] == GROUP and cluster.coordinators is not None
        after, error = altered(resource[0], before, changes, SHORT_SESSIONS if of_members else KNOWN)
        applied = error is Error.NONE or "refused-alteration-half-applied" in cluster.bugs
        if applied and not validate_only and after != before:
            cluster.controller.set_configs(resource, after)
    text = None if error is Error.NONE else error.name
    return {"error_code": error, "error_message": text, "resource_type": resource[0], "resource_name": resource[1]}


def _unalterable(cluster: MiniCluster, resource: Resource) -> Error:
    kind, name = resource
    if kind not in KNOWN:
        return Error.INVALID_REQUEST
    if kind == TOPIC:
        return Error.NONE if name in cluster.controller.topics else Error.UNKNOWN_TOPIC_OR_PARTITION
    known = kind != BROKER or name == "" or name in {str(id) for id in cluster.brokers}
    return Error.NONE if known else Error.INVALID_REQUEST


__all__ = ["describe_configs", "incremental_alter_configs"]
