"""The user's options. Each is an option of pytest, an ini value and an environment variable."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

from conformance.core.profiles import MINUTES, Profile
from conformance.core.topologies import where_kit_sets
from conformance.running.provenance import Provenance
from fixtures.errors import WrongUse
from history.command import ALL_THAT_SEE_IT

LABEL_HELP = "the name of a column in reports; repeatable"
AS_HELP = "the version of Apache Kafka that a build of your own is judged as, if its jars say another one; repeatable"
REQUIREMENT_HELP = (
    "rows to run, as a glob over their ids: the checks that were written for them and, for a property or a row that no "
    "check was written for, the machines whose histories show it; repeatable"
)
ALL_HELP = "with --requirement, also every other check whose history a judge of the rows reads"
DEVIATIONS_HELP = "known deviations of your own, in the format of conformance/known-deviations.toml; repeatable"
LIBS_HELP = "the folder with the jars inside an image; default: /opt/kafka/libs; repeatable"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a run: plain data, passed unchanged from the controller to the workers."""

    versions: list[str]
    images: list[str] = []
    homes: list[str] = []
    labels: list[str] = []
    judged_as: list[str] = []
    libs: list[str] = []
    features: dict[str, str] = {}
    properties: dict[str, str] = {}
    profile: Profile = "smoke"
    minutes: float = 0.0
    requirements: list[str] = []
    all_that_see_it: bool = False
    """True if every check runs whose history may show a selected row, not only the row's own checks."""
    out: str = "out"
    machines: list[str] = []
    beginning: str = ""
    replay: str = ""
    keep_cluster: bool = False
    baseline: str = ""
    deviations: list[str] = []
    seed: int = 0
    run: str = ""
    whole: bool = True
    """True if the whole profile runs, not named files or checks."""
    is_filtered: bool = False
    """True if pytest's -k or -m leaves out checks."""
    began: float = 0.0
    """The time when the run began, in seconds since the epoch; 0 if it begins with its first check."""
    provenance: Provenance = Provenance()
    selections: dict[str, list[str]] = {}
    """The options that select each column, by its label; known once the images are."""

    @property
    def is_timed(self) -> bool:
        """True if there is a clock. Without one all work is done, however long it takes."""
        return bool(self.minutes or MINUTES[self.profile])

    @property
    def is_whole_profile(self) -> bool:
        """True if all checks of the profile run, without restriction to rows, machines, files or a schedule."""
        return self.whole and not (self.requirements or self.machines or self.replay)

    @property
    def fills_its_time(self) -> bool:
        """True if the time that the floors leave is used up: in a run of a whole profile, or if minutes are given."""
        is_whole = self.whole and not self.requirements
        return self.is_timed and not self.replay and (is_whole or self.minutes > 0)

    @property
    def configuration(self) -> list[str]:
        """The options that configure all columns alike."""
        features = (("--feature", f"{name}={level}") for name, level in sorted(self.features.items()))
        properties = (("--server-property", f"{name}={value}") for name, value in sorted(self.properties.items()))
        return [word for option in (*features, *properties) for word in option]

    @property
    def out_dir(self) -> Path:
        """The directory for the output of the run."""
        return Path(self.out)


class Option(msgspec.Struct, frozen=True):
    """An option of pytest, with its environment variable and ini name."""

    flag: str
    help: str
    action: str = "store"
    metavar: str | None = None

    @property
    def name(self) -> str:
        """The name of the option on the command line."""
        return self.flag.removeprefix("--").replace("-", "_")

    @property
    def variable(self) -> str:
        """The name of its environment variable."""
        return f"KAFKA_CONFORMANCE_{self.name.removeprefix('conformance_').upper()}"


OPTIONS = (
    Option(
        "--kafka-version",
        "a version, a range such as 3.9..4.3, all, or released (every patch); repeatable",
        "append",
        "V",
    ),
    Option("--kafka-image", "an image of your own with a Kafka in /opt/kafka/libs; repeatable", "append", "IMAGE"),
    Option("--kafka-home", "a built or unpacked Kafka of your own; repeatable", "append", "DIR|TGZ"),
    Option("--label", LABEL_HELP, "append", "[COLUMN=]NAME"),
    Option("--as", AS_HELP, "append", "[BUILD=]V"),
    Option("--kafka-libs", LIBS_HELP, "append", "[IMAGE=]PATH"),
    Option("--server-property", "a setting of every node, KEY=VALUE; repeatable", "append", "KEY=VALUE"),
    Option("--feature", "a feature level to format with, NAME=LEVEL; repeatable", "append", "NAME=LEVEL"),
    Option("--conformance-profile", "how much to do", metavar="smoke|quick|nightly"),
    Option(
        "--conformance-minutes",
        "how long a column may take; default: 15 in quick, 60 in nightly, until all is done in smoke",
        metavar="M",
    ),
    Option("--requirement", REQUIREMENT_HELP, "append", "GLOB"),
    Option(ALL_THAT_SEE_IT, ALL_HELP, "store_true"),
    Option("--conformance-out", "where shards, histories and evidence go", metavar="DIR"),
    Option("--conformance-machines", "only machines: this one, or all; repeatable", "append", "NAME"),
    Option(
        "--conformance-beginning",
        "how machines begin: schedules to play first, known violations, whether the opening is played (a hunt's file)",
        metavar="FILE",
    ),
    Option("--replay", "run one recorded schedule (schedule.json of an evidence folder)", metavar="FILE"),
    Option("--keep-cluster", "on a violation leave the cluster up", "store_true"),
    Option("--baseline", "a matrix.json whose violations are known", metavar="MATRIX"),
    Option("--deviations", DEVIATIONS_HELP, "append", "FILE"),
    Option(
        "--conformance-run",
        "the id of this run, for a job that has to know it; default: made of the time",
        metavar="ID",
    ),
    Option("--conformance-seed", "the seed of all drawn inputs", metavar="N"),
)


def add_options(parser: pytest.Parser) -> None:
    """Register all options with pytest."""
    group = parser.getgroup("conformance", "Kafka conformance")
    for option in OPTIONS:
        extra: dict[str, Any] = {"metavar": option.metavar} if option.metavar else {}
        group.addoption(option.flag, action=option.action, default=None, dest=option.name, help=option.help, **extra)
        kind: Literal["linelist", "string"] = "linelist" if option.action == "append" else "string"
        parser.addini(option.name, option.help, type=kind, default=None)


def read_settings(config: pytest.Config) -> Settings:
    """Return the effective settings: command line, then environment, then ini. Raises ValueError for unreadable
    values."""
    value = {option.name: _option_value(config, option) for option in OPTIONS}
    return Settings(
        versions=_split_list(value["kafka_version"]),
        images=_split_list(value["kafka_image"]),
        homes=_split_paths(value["kafka_home"]),
        labels=_split_lines(value["label"]),
        judged_as=_split_lines(value["as"]),
        libs=_split_lines(value["kafka_libs"]),
        properties=dict(_parse_property(text) for text in _split_lines(value["server_property"])),
        features=dict(_parse_feature(text) for text in _split_list(value["feature"])),
        profile=_parse_profile(value["conformance_profile"]),
        minutes=_parse_minutes(value["conformance_minutes"]),
        requirements=_split_list(value["requirement"]),
        all_that_see_it=_parse_switch(value["all_that_see_it"]),
        out=value["conformance_out"] or "out",
        machines=_split_list(value["conformance_machines"]),
        beginning=value["conformance_beginning"] or "",
        replay=value["replay"] or "",
        keep_cluster=_parse_switch(value["keep_cluster"]),
        baseline=value["baseline"] or "",
        deviations=_split_paths(value["deviations"]),
        seed=_parse_seed(value["conformance_seed"]),
        run=_parse_run_id(value["conformance_run"]),
    )


def make_writable(folder: Path, flag: str) -> None:
    """Create the folder that an option names. Raises WrongUse if it cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WrongUse(f"{flag} {folder}: it can't be made ({error.strerror}). Give another folder.") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise WrongUse(f"{flag} {folder}: it can't be written to. Give another folder.")


def _option_value(config: pytest.Config, option: Option) -> Any:
    given = config.getoption(option.name)
    if given not in (None, []):
        return given
    return os.environ.get(option.variable) or config.getini(option.name)


def _split_list(value: str | Sequence[str] | None) -> list[str]:
    if value is None:
        return []
    return value.replace(",", " ").split() if isinstance(value, str) else list(value)


def _split_paths(value: str | Sequence[str] | None) -> list[str]:
    """Return an option's paths. Paths may contain blanks and commas, so an environment variable separates them as PATH does."""
    return value.split(os.pathsep) if isinstance(value, str) and value else list(value or ())


def _split_lines(value: str | Sequence[str] | None) -> list[str]:
    """Return an option's values. Values may contain blanks and commas, so an environment variable has one per line."""
    return value.splitlines() if isinstance(value, str) else list(value or ())


def _parse_switch(value: Any) -> bool:
    return str(value or "").lower() in ("true", "1", "yes", "on")


def _parse_profile(value: str | None) -> Profile:
    profile = value or "smoke"
    if profile not in MINUTES:
        raise ValueError(f"--conformance-profile {profile!r}: there are {', '.join(MINUTES)}")
    return profile


def _parse_minutes(value: str | None) -> float:
    """Return the minutes of the run; 0 if none were given."""
    try:
        minutes = float(value or 0)
    except ValueError:
        minutes = -1
    if not 0 <= minutes < 10_000 or (value and not minutes):
        raise ValueError(f"--conformance-minutes {value!r}: write how many minutes a column may take, e.g. 16")
    return minutes


def _parse_seed(value: str | None) -> int:
    if not value:
        return int.from_bytes(os.urandom(4), "big")
    if not value.isdecimal():
        raise ValueError(f"--conformance-seed {value!r}: write the number that a run's header shows, e.g. 1234")
    return int(value)


def _parse_run_id(value: str | None) -> str:
    if value and not re.fullmatch(r"\d{6}-\d{6}-[0-9a-f]+", value):
        raise ValueError(f"--conformance-run {value!r}: a run's id is yymmdd-HHMMSS-xxxx, e.g. 261121-233000-4f1c")
    return value or ""


def _parse_feature(text: str) -> tuple[str, str]:
    name, sign, level = text.partition("=")
    if not (name and sign and level):
        raise ValueError(f"--feature {text!r}: write NAME=LEVEL, e.g. transaction.version=1")
    return name, level


def _parse_property(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not (name and sign):
        raise ValueError(f"--server-property {text!r}: write KEY=VALUE, e.g. log.cleaner.threads=2")
    if where := where_kit_sets(name):
        raise ValueError(
            f"--server-property {text!r}: {name} is set by the kit {where}, and its checks rely on it. Leave it out; "
            "settings that the kit does not make itself may be given."
        )
    return name, value
