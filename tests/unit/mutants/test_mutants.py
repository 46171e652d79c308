"""The mutants' agent on real jars, without a broker, and the table that says what a mutant must turn red."""

import re
import subprocess
import tomllib
import zipfile
from pathlib import Path

import pytest
from filelock import FileLock

from conformance.catalogue.applicability import in_range
from fixtures.images import maven
from fixtures.runs import discard_progress
from history.paths import cache_dir
from mutants import Mutant, UnknownMutant, all_mutants, mutant
from mutants.build import SOURCES, AgentNotBuilt, build_agent

CATALOGUE = Path(__file__).parents[3] / "conformance" / "catalogue"
PLANTED = "unfenced-leader-epoch"
FENCE = SOURCES / "src" / "test" / "java" / "LeaderEpochFence.java"
EPOCH_MAP = SOURCES / "src" / "test" / "java" / "EpochMap.java"
PARTITION_CHANGES = SOURCES / "src" / "test" / "java" / "PartitionChanges.java"
VERSIONS = ("3.9.2", "4.3.1")
RELEASES = pytest.mark.parametrize("version", VERSIONS)

MUTANTS = pytest.mark.parametrize("planted", all_mutants(), ids=lambda planted: planted.name)


@pytest.fixture(scope="session")
def agent() -> Path:
    return build_agent()


def java(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["java", *map(str, arguments)], capture_output=True, text=True, timeout=60)


class Compiler:
    """Compiles each source once: `java File.java` would compile it for every test."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[tuple[str, ...], Path] = {}

    def fake_partition(self, body: str) -> Path:
        """A class path on which kafka.cluster.Partition is a class with this body, and a main class that does nothing."""
        sources = {
            "Partition": f"package kafka.cluster; public class Partition {{ {body} }}",
            "Idle": "public class Idle { public static void main(String[] a) {} }",
        }
        return self._classes(("fake", body), sources, "")

    def with_main(self, version: str, source: Path) -> tuple[str, ...]:
        """The options of `java` for the main class in a source, on all jars of a release."""
        libs = class_path(version)
        classes = self._classes((version, source.stem), {source.stem: source.read_text()}, libs)
        return "-cp", f"{classes}:{libs}", source.stem

    def _classes(self, key: tuple[str, ...], sources: dict[str, str], libs: str) -> Path:
        if key not in self._made:
            folder = self._folder / str(len(self._made))
            folder.mkdir()
            for name, text in sources.items():
                (folder / f"{name}.java").write_text(text)
            files = list(folder.glob("*.java"))
            command: list[str | Path] = ["javac", "-nowarn", "-cp", libs or folder, "-d", folder, *files]
            subprocess.run(command, check=True, timeout=60, capture_output=True)
            self._made[key] = folder
        return self._made[key]


@pytest.fixture(scope="session")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> Compiler:
    return Compiler(tmp_path_factory.mktemp("classes"))


def class_path(version: str) -> str:
    with FileLock(cache_dir() / f"{version}.lock"):
        return f"{maven.jar_directory(version, discard_progress)}/*"


def install_line(output: str) -> str:
    (line,) = {line for line in output.splitlines() if mutant(PLANTED).install_line in line}
    return line


def _is_installed_by(planted: Mutant, line: str) -> bool:
    """True if a line of a JVM's output says that the mutant is in all its places."""
    places = (any(f"{target} of " in line for target in names) for names in planted.targets)
    return line.startswith(planted.install_line) and all(places)


class TestTable:
    def test_every_row_is_in_the_catalogue_with_that_kind(self) -> None:
        rows = [
            row for file in CATALOGUE.glob("*.toml") for row in tomllib.loads(file.read_text()).get("requirement", [])
        ]
        kinds = {row["id"]: row["kind"] for row in rows}
        listed = {red.id: red.kind for planted in all_mutants() for red in (*planted.red, *planted.may)}
        assert listed == {id_: kinds.get(id_) for id_ in listed}

    @MUTANTS
    def test_no_row_twice(self, planted: Mutant) -> None:
        ids = [red.id for red in (*planted.red, *planted.may)]
        assert len(ids) == len(set(ids))

    def test_unknown_name_says_which_there_are(self) -> None:
        with pytest.raises(UnknownMutant, match=r"'nonsense'.*unfenced-leader-epoch"):
            mutant("nonsense")


class TestAgent:
    def test_is_built_once(self, agent: Path) -> None:
        progress: list[str] = []
        assert build_agent(progress.append) == agent
        assert not progress

    def test_equal_sources_give_equal_bytes(self, agent: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("KAFKA_CONFORMANCE_CACHE", str(tmp_path))
        again = build_agent()
        assert again.parent == tmp_path / "mutants"
        assert again.read_bytes() == agent.read_bytes()
        assert list(again.parent.iterdir()) == [again]

    def test_runs_on_java_11(self, agent: Path) -> None:
        """Class file version 55: the images of Kafka 3.x bring Java 11."""
        with zipfile.ZipFile(agent) as jar:
            ours = [
                jar.read(name) for name in jar.namelist() if name.startswith("mutants/") and name.endswith(".class")
            ]
        assert {int.from_bytes(content[6:8]) for content in ours} == {55}

    @MUTANTS
    def test_has_what_the_table_has(self, agent: Path, planted: Mutant, tmp_path: Path) -> None:
        """A class path without Kafka gets as far as the mutant's own target, in the words of the table."""
        ran = java(f"-javaagent:{agent}={planted.name}", "-cp", tmp_path, "Idle")
        assert ran.returncode == 1
        firsts = [[target.partition("#")[0] for target in names] for names in planted.targets]
        assert any(f"There is no class {' or '.join(names)} on the class path" in ran.stderr for names in firsts)

    @pytest.mark.parametrize("argument", ["", "=", "=nonsense", "=../planted/X", "=UnfencedLeaderEpoch"])
    def test_unknown_name_stops_the_start(self, agent: Path, argument: str, compiler: Compiler) -> None:
        ran = java(f"-javaagent:{agent}{argument}", "-cp", compiler.fake_partition(""), "Idle")
        assert ran.returncode == 1
        assert f"No mutant is named '{argument[1:]}'" in ran.stderr
        assert "one of: " + ", ".join(sorted(planted.name for planted in all_mutants())) in ran.stderr

    def test_missing_method_stops_the_start(self, agent: Path, compiler: Compiler) -> None:
        fake = compiler.fake_partition("void checkCurrentLeaderEpochs() {}")
        ran = java(f"-javaagent:{agent}={PLANTED}", "-cp", fake, "Idle")
        assert ran.returncode == 1
        assert "no method checkCurrentLeaderEpoch in kafka.cluster.Partition" in ran.stderr
        assert "does not fit this version of Kafka" in ran.stderr

    def test_method_of_another_shape_stops_the_start(self, agent: Path, compiler: Compiler) -> None:
        fake = compiler.fake_partition("int checkCurrentLeaderEpoch() { return 0; }")
        ran = java(f"-javaagent:{agent}={PLANTED}", "-cp", fake, "Idle")
        assert ran.returncode == 1
        assert f"Mutant {PLANTED} could not be installed" in ran.stderr
        assert "is installed in" not in ran.stderr

    def test_broken_sources_are_named(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("KAFKA_CONFORMANCE_CACHE", str(tmp_path / "cache"))
        planted = tmp_path / "src" / "main" / "java" / "Broken.java"
        planted.parent.mkdir(parents=True)
        planted.write_text("class Broken {")
        (tmp_path / "pom.xml").write_bytes((SOURCES / "pom.xml").read_bytes())
        with pytest.raises(AgentNotBuilt, match=re.escape("Broken.java")):
            build_agent(sources=tmp_path)
        assert not list((tmp_path / "cache" / "mutants").iterdir())

    def test_no_maven_says_what_to_install(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("KAFKA_CONFORMANCE_CACHE", str(tmp_path))
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(AgentNotBuilt, match="install Maven"):
            build_agent()

    @pytest.mark.parametrize(
        ("planted", "version"),
        [
            pytest.param(planted, version, id=f"{planted.name}-{version}")
            for planted in all_mutants()
            for version in VERSIONS
            if any(in_range(version, text) for text in planted.applies)
        ],
    )
    def test_is_in_every_place_of_the_table(
        self, agent: Path, planted: Mutant, version: str, compiler: Compiler
    ) -> None:
        """On a class path with all of Kafka, as controllers have it too. The JVM verifies what was made of the classes."""
        libs = f"{class_path(version)}:{compiler.fake_partition('')}"
        ran = java(f"-javaagent:{agent}={planted.name}", "-cp", libs, "Idle")
        assert ran.returncode == 0
        assert any(_is_installed_by(planted, line) for line in ran.stderr.splitlines())

    def test_two_mutants_in_one_method(self, agent: Path, compiler: Compiler) -> None:
        """Each works on what the other left: a second agent does not take the first one's bug away."""
        both = [f"-javaagent:{agent}={name}" for name in (PLANTED, "unknown-epoch-served")]
        mutated = java(*both, *compiler.with_main("4.3.1", FENCE))
        assert mutated.stdout.split() == ["NONE", "NONE", "NONE", "NONE"]


class TestEpochMap:
    """Mutants in a replica's leader epoch cache, without a broker: 0 from offset 0, 2 from 3, 4 from 6, log end 9."""

    HONEST = ("0=3", "{0=0}", "{2=4, 4=6}", "{4=6}", "{0=0, 2=3, 4=6}", "{0=0, 2=3, 4=6}", "{0=1, 2=3}")
    WRONG = {
        "echoed-epoch": {0: "1=3"},
        "ghost-epochs": {1: "{0=0, 2=3, 4=6}", 6: "{0=1, 2=3, 4=6}"},
        "ghost-epochs-after-trim": {6: "{0=1, 2=3, 4=6}"},
        "dropped-head-epoch": {2: "{4=6}", 6: "{2=3}"},
        "shifted-epoch-starts": {5: "{0=0, 2=2, 4=5}"},
    }

    @RELEASES
    @pytest.mark.parametrize("name", WRONG)
    def test_answers_are_wrong(self, agent: Path, compiler: Compiler, name: str, version: str, tmp_path: Path) -> None:
        expected = tuple(self.WRONG[name].get(n, line) for n, line in enumerate(self.HONEST))
        assert self.printed(compiler, version, tmp_path, "topic", f"-javaagent:{agent}={name}") == expected

    @pytest.mark.parametrize("name", WRONG)
    def test_not_of_the_metadata_log(self, agent: Path, compiler: Compiler, name: str, tmp_path: Path) -> None:
        assert (
            self.printed(compiler, "4.3.1", tmp_path, "__cluster_metadata", f"-javaagent:{agent}={name}") == self.HONEST
        )

    @RELEASES
    def test_unharmed(self, compiler: Compiler, version: str, tmp_path: Path) -> None:
        assert self.printed(compiler, version, tmp_path, "topic") == self.HONEST

    def printed(self, compiler: Compiler, version: str, directory: Path, topic: str, *agents: str) -> tuple[str, ...]:
        ran = java(*agents, *compiler.with_main(version, EPOCH_MAP), directory, topic)
        return tuple(line for line in ran.stdout.splitlines() if "=" in line)


class TestPartitionChanges:
    """Mutants in the controller, without one: leader, epoch and ISR of partitions after losses and unclean elections."""

    HONEST = (
        "leader 2 at 1 [2, 3]",
        "leader 3 at 2 [3]",
        "leader 2 at 1 [2, 3]",
        "leader 2 at 1 [2]",
        "leader 2 at 2 [2]",
        "leader -1 at 1 [1]",
        "leader 2 at 1 [2, 3]",
    )
    WRONG = {
        "second-loss-without-successor": {1: "leader -1 at 2 [3]"},
        "reassigned-replica-stays": {2: "leader 2 at 1 [2, 3, 1]"},
        "second-unclean-epoch-kept": {4: "leader 2 at 1 [2]"},
        "leaderless-partition-blocks-elections": {6: "leader -1 at 1 [2, 3]"},
    }

    @RELEASES
    @pytest.mark.parametrize("name", WRONG)
    def test_only_the_second_thing_goes_wrong(self, agent: Path, compiler: Compiler, name: str, version: str) -> None:
        expected = tuple(self.WRONG[name].get(n, line) for n, line in enumerate(self.HONEST))
        assert self.printed(compiler, version, f"-javaagent:{agent}={name}") == expected

    @RELEASES
    def test_unharmed(self, compiler: Compiler, version: str) -> None:
        assert self.printed(compiler, version) == self.HONEST

    def printed(self, compiler: Compiler, version: str, *agents: str) -> tuple[str, ...]:
        ran = java(*agents, *compiler.with_main(version, PARTITION_CHANGES))
        return tuple(line for line in ran.stdout.splitlines() if line.startswith("leader"))


class TestUnfencedLeaderEpoch:
    @pytest.mark.parametrize("version", ["3.3.2", "3.9.2", "4.3.1", "4.4.0"])
    def test_only_the_older_epoch_passes(self, agent: Path, compiler: Compiler, version: str) -> None:
        """A Partition at epoch 3 is asked at 2, 3, 4 and without an epoch; first and last version and README's."""
        fence = compiler.with_main(version, FENCE)
        original = java(*fence)
        mutated = java(f"-javaagent:{agent}={PLANTED}", *fence)
        assert original.stdout.split() == ["FENCED_LEADER_EPOCH", "NONE", "UNKNOWN_LEADER_EPOCH", "NONE"]
        assert mutated.stdout.split() == ["NONE", "NONE", "UNKNOWN_LEADER_EPOCH", "NONE"]
        line = install_line(mutated.stderr)
        assert line.endswith(f"kafka_2.13-{version}.jar")
