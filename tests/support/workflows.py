"""An interpreter of the kit's workflow files: jobs, `needs`, conditions, and their own steps, on one machine.

Checkout, caches, artifacts and pages are folders of a `Forge`. A step that calls `./kit` is run by bash with a `kit` that only
notes its words; then `Forge.kit` does what they ask for, so that a test can give it an engine, a pytest and a merge of its own.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jinja2
import msgspec

Kit = Callable[[Path, Sequence[str], Mapping[str, str]], int]
"""A function that runs `./kit` with words, in a folder, with an environment, and returns its exit code."""

Outputs = dict[str, str]
"""The outputs of a step."""
HOME = "home"
"""The home folder of a job, within its own."""

_KIT = '#!/bin/bash\nprintf "%s\\0" "$@" > "$KIT_WORDS"\ncat "$KIT_ANSWER"\nexit "$KIT_CODE"\n'
_STATUS = re.compile(r"\b(always|cancelled|success|failure)\(\)")
_EXPRESSIONS = jinja2.Environment()


class StepFailed(Exception):
    """A step's action could not do what it was told."""


@dataclass
class Job:
    """A job of a run, after it: its result, and its outputs."""

    result: str = ""
    outputs: dict[str, str] = field(default_factory=dict)


@dataclass
class Run:
    """One run of a workflow, over all of its attempts."""

    workflow: str
    number: int
    event: str
    inputs: dict[str, Any]
    attempt: int = 0
    jobs: dict[str, Job] = field(default_factory=dict)

    def results(self, job: str) -> list[str]:
        """The results of a job, or of each leg of its matrix."""
        return [one.result for name, one in self.jobs.items() if name == job or name.startswith(f"{job} ")]


class Forge:
    """GitHub between jobs and runs, in a folder: caches, artifacts, pages and issues."""

    def __init__(self, folder: Path, kit: Kit) -> None:
        self.folder = folder
        self.kit = kit
        self.saves = True
        self.caches: list[str] = []
        self._runs: dict[Path, int] = {}
        for name in ("bin", "pages"):
            (folder / name).mkdir(parents=True)
        for name in ("gh", "kit"):
            shutil.copy(Path(__file__).with_name("fake_gh") if name == "gh" else self._stub(), folder / "bin" / name)
            (folder / "bin" / name).chmod(0o755)
        (folder / "issues.json").write_text("[]")

    def _stub(self) -> Path:
        path = self.folder / "stub"
        path.write_text(_KIT)
        return path

    # --- runs

    def begin(self, workflow: Path, event: str = "schedule", **inputs: Any) -> Run:
        """Run a workflow for the first time."""
        self._runs[workflow] = self._runs.get(workflow, 0) + 1
        run = Run(workflow.stem, self._runs[workflow], event, inputs)
        self.attempt(workflow, run)
        return run

    def attempt(self, workflow: Path, run: Run, *, only_failed: bool = False) -> None:
        """Run it again: all jobs, or those that failed and those that need them."""
        run.attempt += 1
        kept = {name: job for name, job in run.jobs.items() if only_failed and job.result == "success"}
        run.jobs = {}
        document = msgspec.yaml.decode(workflow.read_bytes())
        for name, job in document["jobs"].items():
            needed = [job["needs"]] if isinstance(job.get("needs"), str) else job.get("needs", [])
            again = any(one not in kept for one in run.jobs if one.split(" ")[0] in needed)
            _JobRun(self, run, name, job, needed, {} if again else kept).run()

    # --- caches and artifacts

    def save(self, key: str, path: Path) -> None:
        if self.saves and key not in self.caches:
            copy(path, self.folder / "caches" / key)
            self.caches.append(key)

    def cached(self, key: str, prefixes: Iterable[str] = ()) -> Path | None:
        """The cache of this key, or the newest one with a prefix."""
        found = [each for each in self.caches if each == key]
        found += [each for prefix in prefixes for each in reversed(self.caches) if each.startswith(prefix)]
        return self.folder / "caches" / found[0] if found else None

    def artifacts(self, run: Run) -> Path:
        return self.folder / "artifacts" / run.workflow / str(run.number)


def copy(source: Path, target: Path) -> None:
    """Copy a file or the contents of a folder."""
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


@dataclass
class _JobRun:
    """One job of an attempt; one with a matrix is run for each of its values."""

    _forge: Forge
    _run: Run
    _name: str
    _job: dict[str, Any]
    _needed: Sequence[str]
    _kept: Mapping[str, Job]
    _steps: dict[str, dict[str, Any]] = field(default_factory=dict)
    _matrix: dict[str, str] = field(default_factory=dict)
    _failed: bool = False

    def run(self) -> None:
        self._failed = any(result != "success" for one in self._needed for result in self._run.results(one))
        if not self._holds(self._job.get("if", "")):
            self._run.jobs[self._name] = Job("skipped")
            return
        variants = self._job.get("strategy", {}).get("matrix", {})
        values = [{name: value} for name, text in variants.items() for value in json.loads(self._text(text))] or [{}]
        for matrix in values:
            name = " ".join([self._name, *matrix.values()])
            self._run.jobs[name] = self._kept.get(name) or self._run_steps(matrix)

    def _run_steps(self, matrix: dict[str, str]) -> Job:
        self._matrix, self._failed, self._steps = matrix, False, {}
        place = "-".join(
            [self._run.workflow, str(self._run.number), str(self._run.attempt), self._name, *matrix.values()]
        )
        self._folder = self._forge.folder / "work" / place
        self._folder.mkdir(parents=True)
        shutil.copy(self._forge.folder / "bin" / "kit", self._folder / "kit")
        for step in self._job["steps"]:
            self._steps[step.get("id", "")] = {"outputs": {}, "outcome": "skipped"}
            if self._holds(step.get("if", "")):
                self._step(step)
        outputs = {name: self._text(text) for name, text in self._job.get("outputs", {}).items()}
        return Job("failure" if self._failed else "success", outputs)

    def _step(self, step: dict[str, Any]) -> None:
        outputs: dict[str, str] = {}
        state = self._steps[step.get("id", "")] = {"outputs": outputs, "outcome": "success"}
        try:
            if "run" in step:
                self._script(step, outputs)
            else:
                given = {name: self._text(str(value)) for name, value in step.get("with", {}).items()}
                outputs.update(_ACTIONS[step["uses"].split("@")[0]](self, given) or {})
        except StepFailed:
            self._failed, state["outcome"] = True, "failure"

    # --- scripts

    def _script(self, step: dict[str, Any], outputs: dict[str, str]) -> None:
        told, summary = self._folder / ".outputs", self._folder / ".summary"
        environment = {
            **{name: self._text(str(value)) for name, value in step.get("env", {}).items()},
            "GITHUB_EVENT_NAME": self._run.event,
            "GITHUB_OUTPUT": str(told),
            "GITHUB_STEP_SUMMARY": str(summary),
            "GITHUB_RUN_ATTEMPT": str(self._run.attempt),
            "FORGE": str(self._forge.folder),
        }
        told.write_text("")
        try:
            words = self._bash(step, environment, answer="| a | table |\n", code=0)
            if words[:1] == ["night"]:
                self._bash(step, environment, answer="", code=self._forge.kit(self._folder, words[1:], environment))
        finally:
            pairs = (line.partition("=") for line in told.read_text().splitlines())
            outputs.update({name: value for name, _, value in pairs})

    def _bash(self, step: dict[str, Any], environment: Mapping[str, str], answer: str, code: int) -> list[str]:
        """Run a step's script, with a `./kit` that prints an answer and ends with a code; return its words."""
        words, answered = self._folder / ".words", self._folder / ".answer"
        words.write_text("")
        answered.write_text(answer)
        own = {"KIT_WORDS": str(words), "KIT_ANSWER": str(answered), "KIT_CODE": str(code)}
        path = f"{self._forge.folder / 'bin'}:{os.environ['PATH']}"
        shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail"] if step.get("shell") == "bash" else ["bash", "-e"]
        done = subprocess.run(
            [*shell, "-c", self._text(step["run"])],
            cwd=self._folder,
            env={**environment, **own, "PATH": path},
            check=False,
        )
        if done.returncode:
            raise StepFailed(step["run"])
        return words.read_text().split("\0")[:-1]

    # --- expressions

    def _text(self, text: str) -> str:
        """Return a text with its expressions evaluated."""
        return re.sub(r"\$\{\{(.*?)\}\}", lambda found: _word(self._value(found[1])), text)

    def _holds(self, condition: str) -> bool:
        bare = condition.removeprefix("${{").removesuffix("}}").strip() or "success()"
        return bool(self._value(bare if _STATUS.search(bare) else f"success() && ({bare})"))

    def _value(self, expression: str) -> Any:
        python = expression.replace("&&", " and ").replace("||", " or ")
        python = re.sub(r"!(?!=)", " not ", python)
        python = re.sub(r"\.(\w+(?:-\w+)+)", r"['\1']", python)
        needs = {name: {"outputs": job.outputs, "result": job.result} for name, job in self._run.jobs.items()}
        return _EXPRESSIONS.compile_expression(python)(
            github={
                "run_id": f"id{self._run.number}",
                "run_number": self._run.number,
                "run_attempt": self._run.attempt,
                "ref": "refs/heads/main",
                "repository": "kit/kit",
                "repository_owner": "kit",
                "event": {"repository": {"name": "kit"}},
                "event_name": self._run.event,
                "token": "token",
            },
            inputs=self._run.inputs,
            needs=needs,
            steps=self._steps,
            matrix=self._matrix,
            always=lambda: True,
            cancelled=lambda: False,
            success=lambda: not self._failed,
            failure=lambda: self._failed,
            fromJSON=lambda text: text,
            hashFiles=lambda pattern: "hash",
        )

    # --- actions

    def _no_action(self, given: Mapping[str, str]) -> None:
        """Checkout and languages: everything is here."""

    def _upload(self, given: Mapping[str, str]) -> None:
        target = self._forge.artifacts(self._run) / given["name"]
        found = sorted(self._folder.glob(given["path"]))
        if target.exists() and given.get("overwrite") != "True":
            raise StepFailed(f"artifact {given['name']} exists")
        if not found and given.get("if-no-files-found") == "error":
            raise StepFailed(f"nothing at {given['path']}")
        shutil.rmtree(target, ignore_errors=True)
        for path in found:
            copy(path, target if path.is_dir() else target / path.name)

    def _download(self, given: Mapping[str, str]) -> None:
        folder, into = self._forge.artifacts(self._run), self._folder / given.get("path", "")
        if "name" in given:
            if not (folder / given["name"]).is_dir():
                raise StepFailed(f"no artifact {given['name']}")
            copy(folder / given["name"], into)
        for artifact in folder.glob(given.get("pattern", "")) if "pattern" in given else ():
            copy(artifact, into / artifact.name)

    def _restore(self, given: Mapping[str, str]) -> Outputs:
        found = self._forge.cached(given["key"], given.get("restore-keys", "").split())
        if found is None and given.get("fail-on-cache-miss") == "True":
            raise StepFailed(f"no cache {given['key']}")
        if found is None:
            return {}
        if given.get("lookup-only") != "True":
            copy(found, self._place(given))
        return {"cache-matched-key": found.name, "cache-hit": "true" if found.name == given["key"] else "false"}

    def _save(self, given: Mapping[str, str]) -> None:
        if self._place(given).exists():
            self._forge.save(given["key"], self._place(given))

    def _place(self, given: Mapping[str, str]) -> Path:
        """The path of a cache; the home folder is one within the job's."""
        return self._folder / given["path"].replace("~", HOME)

    def _deploy(self, given: Mapping[str, str]) -> None:
        pages = self._forge.folder / "pages"
        shutil.rmtree(pages)
        copy(self._forge.artifacts(self._run) / given["artifact_name"], pages)


def _word(value: Any) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


_ACTIONS: dict[str, Callable[[_JobRun, Mapping[str, str]], Outputs | None]] = {
    "actions/checkout": _JobRun._no_action,
    "actions/setup-python": _JobRun._no_action,
    "actions/setup-java": _JobRun._no_action,
    "actions/upload-artifact": _JobRun._upload,
    "actions/download-artifact": _JobRun._download,
    "actions/cache/restore": _JobRun._restore,
    "actions/cache/save": _JobRun._save,
    "actions/upload-pages-artifact": _JobRun._upload,
    "actions/deploy-pages": _JobRun._deploy,
}
