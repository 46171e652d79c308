"""The columns that a user requests, with overrides of their name, of the version to judge them as, and of the place of their
jars."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from fixtures.images import LIBS, Image, from_home, from_image, obtain_image
from fixtures.runs import Progress, discard_progress
from history.releases import PRE_RELEASE, RELEASED

VERSION, IMAGE, HOME = "--kafka-version", "--kafka-image", "--kafka-home"
AS, LABEL, JARS_IN = "--as", "--label", "--kafka-libs"
SELECTING = (VERSION, IMAGE, HOME, AS, LABEL, JARS_IN)
"""Options that select a column. All other options apply to every column."""
_LABEL = re.compile(r"[A-Za-z0-9/][\w .:@/+=-]{0,99}")


class WantedColumn(msgspec.Struct, frozen=True, kw_only=True):
    """A requested column before its image is obtained.

    `name` is the value of `option`: a released version, an image or a distribution. The other fields are empty unless the user
    overrides the defaults.
    """

    option: str
    name: str
    label: str = ""
    judged_as: str = ""
    libs: str = ""

    @property
    def selection(self) -> list[str]:
        """The options that select only this column."""
        overrides = ((LABEL, self.label), (AS, self.judged_as), (JARS_IN, self.libs))
        return [self.option, self.name, *(word for option, value in overrides if value for word in (option, value))]

    @property
    def title(self) -> str:
        """The name of the column before its image is obtained."""
        return self.label or self.name

    def image(self, progress: Progress = discard_progress) -> Image:
        """Get the image, with the column's label. Raises KitError."""
        found = self._image(progress)
        return replace(found, label=self.label or found.label)

    def _image(self, progress: Progress) -> Image:
        if self.option == VERSION:
            return obtain_image(self.name, progress=progress)
        if self.option == IMAGE:
            return from_image(self.name, libs=self.libs or LIBS, judged_as=self.judged_as, progress=progress)
        return from_home(Path(self.name), judged_as=self.judged_as, progress=progress)


class Overrides(msgspec.Struct, frozen=True, kw_only=True):
    """Values that override columns' defaults: `COLUMN=VALUE`, or just `VALUE` if there is only one possible column."""

    labels: Sequence[str] = ()
    judged_as: Sequence[str] = ()
    libs: Sequence[str] = ()


def wanted_columns(
    versions: Sequence[str], images: Sequence[str] = (), homes: Sequence[str] = (), overrides: Overrides | None = None
) -> list[WantedColumn]:
    """Return a column for each version, image and distribution, in this order; distributions by their absolute paths.

    Raises ValueError for a malformed value, and for one that fits no column or several.
    """
    overrides = overrides or Overrides()
    named = [(VERSION, version) for version in versions]
    own = [*((IMAGE, image) for image in images), *((HOME, home) for home in homes)]
    builds = [name for _, name in own]
    labels = _by_column(LABEL, overrides.labels, "column", builds or list(versions), others=versions)
    judged_as = _by_column(AS, overrides.judged_as, "build of your own", builds)
    libs = _by_column(JARS_IN, overrides.libs, "image", list(images))
    _refuse_labels(labels, {name for _, name in own})
    _refuse_versions(judged_as)
    _refuse_libs(libs)
    return [
        WantedColumn(
            option=option,
            name=str(Path(name).absolute()) if option == HOME else name,
            label=labels.get(name, ""),
            judged_as=judged_as.get(name, ""),
            libs=libs.get(name, ""),
        )
        for option, name in (*named, *own)
    ]


def _by_column(
    option: str, values: Sequence[str], what: str, names: Sequence[str], others: Sequence[str] = ()
) -> dict[str, str]:
    """Return the value for each column. A value without a column is for the only one of `names`; for `others` the column must be
    given."""
    found: dict[str, str] = {}
    for text in values:
        name, value = _split_option(option, text, what, names, others)
        if name in found and found[name] != value:
            raise ValueError(f"{option} {text!r}: {name} has {found[name]!r} already. Give it once.")
        found[name] = value
    return found


def _split_option(option: str, text: str, what: str, names: Sequence[str], others: Sequence[str]) -> tuple[str, str]:
    known = sorted((*names, *others), key=len, reverse=True)
    named = next((name for name in known if text.startswith(f"{name}=")), "")
    value = text.removeprefix(f"{named}=") if named else text
    if not value:
        raise ValueError(f"{option} {text!r}: there is no value. Write {option} VALUE, or {option} COLUMN=VALUE.")
    if named:
        return named, value
    if len(names) == 1:
        return names[0], value
    there_are = f"there are {len(names)}: {', '.join(names)}" if names else "there is none"
    raise ValueError(
        f"{option} {text!r} is for one {what}, and {there_are}. "
        + (f"Write {option} {names[0]}={text}." if names else "Give one with --kafka-image or --kafka-home.")
    )


def _refuse_labels(labels: Mapping[str, str], own: Collection[str]) -> None:
    for name, label in labels.items():
        if not _LABEL.fullmatch(label):
            raise ValueError(
                f"{LABEL} {label!r}: a column's name has up to 100 letters, digits, blanks and . : @ / + = - _, "
                "and begins with a letter, a digit or a slash."
            )
        if RELEASED.fullmatch(label) and (label != name or name in own):
            raise ValueError(
                f"{LABEL} {label!r} is the name of a released Kafka's own column. Call {name} something else."
            )
    if len(set(labels.values())) < len(labels):
        twice = next(label for label in labels.values() if list(labels.values()).count(label) > 1)
        raise ValueError(
            f"{LABEL} {twice!r} is the name of two columns. Two builds never share a column: name them apart."
        )


def _refuse_versions(judged_as: Mapping[str, str]) -> None:
    for version in judged_as.values():
        if not (RELEASED.fullmatch(version) and version.count(".") == 2) and not PRE_RELEASE.fullmatch(version):
            raise ValueError(
                f"{AS} {version!r}: write the version of Apache Kafka that the build is made from, such as 3.9.2, 4.5.0-rc1 or "
                "4.5.0-SNAPSHOT."
            )


def _refuse_libs(libs: Mapping[str, str]) -> None:
    for folder in libs.values():
        if not folder.startswith("/"):
            raise ValueError(
                f"{JARS_IN} {folder!r}: write the absolute path of the folder with the jars inside the image, "
                "such as /usr/share/java/kafka."
            )
