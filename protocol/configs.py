"""Configurations of topics, brokers and other resources."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import msgspec

from protocol.codes import Codes, Error
from protocol.messages import Answer, Part, Request

SET, DELETE = 0, 1


class ResourceType(Codes):
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class Config(Part, frozen=True, kw_only=True):
    """A config with its value; `config_source` is the origin of the value: 1 topic, 2 broker, 4 static file, 5 default, and so
    on."""

    name: str
    value: str | None
    read_only: bool = False
    config_source: int = -1
    is_sensitive: bool = False


class ConfigsAnswer(Answer, frozen=True, kw_only=True):
    resource_type: int = 0
    resource_name: str | None = None
    error: Error
    error_message: str | None = None
    configs: tuple[Config, ...] = ()

    def value(self, name: str) -> str | None:
        """Return a requested key's value; None if it is null or not in the answer."""
        return next((config.value for config in self.configs if config.name == name), None)


class ConfigsQuery(msgspec.Struct, frozen=True, gc=False):
    """The named configurations of one resource, or all of them. A broker's name is its id as text."""

    resource_type: ResourceType
    resource_name: str
    names: tuple[str, ...] | None = None


class ResourcesAnswer(Answer, frozen=True, kw_only=True):
    resources: tuple[ConfigsAnswer, ...] = ()


class AlterConfigsAnswer(Answer, frozen=True, kw_only=True):
    resource_type: int = 0
    resource_name: str | None = None
    error: Error
    error_message: str | None = None


class DescribeConfigs(Request[ConfigsAnswer], frozen=True):
    resource_type: ResourceType
    resource_name: str
    names: Sequence[str] | None = None


class DescribeConfigsMany(Request[ResourcesAnswer], frozen=True):
    api: ClassVar[str] = "DescribeConfigs"

    resources: Sequence[ConfigsQuery]


class IncrementalAlterConfigs(Request[AlterConfigsAnswer], frozen=True):
    resource_type: ResourceType
    resource_name: str
    changes: Mapping[str, str | None]
    validate_only: bool = False
