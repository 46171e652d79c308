"""The action, the workflows and the issue forms, as far as GitHub alone would read them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conformance.cli.matrix import matrix
from conformance.cli.night import night

ROOT = Path(__file__).parents[2]
ACTION = ROOT / "action.yml"
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
NIGHTLY = ROOT / ".github" / "workflows" / "nightly.yml"
ALARM = ROOT / ".github" / "workflows" / "alarm.yml"
FORMS = [path for path in sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")) if path.name != "config.yml"]
NEEDED = {"input": "label", "textarea": "label", "dropdown": "options", "checkboxes": "options", "markdown": "value"}
"""The attribute that an element of each type must have."""


def read(path: Path) -> Any:
    return msgspec.yaml.decode(path.read_bytes())


def names_after(text: str, context: str) -> set[str]:
    """The names that expressions take from a context, such as `inputs`."""
    expressions = re.findall(r"\$\{\{(.*?)\}\}", text) + re.findall(r"^\s*if: (.*)$", text, re.MULTILINE)
    return {name for each in expressions for name in re.findall(rf"\b{context}\.([\w-]+)", each)}


def jobs_of(workflow: Any) -> dict[str, Any]:
    jobs: dict[str, Any] = workflow["jobs"]
    return jobs


def scripts(steps: list[dict[str, Any]]) -> Iterator[str]:
    yield from (re.sub(r"\$\{\{.*?\}\}", "x", step["run"]) for step in steps if "run" in step)


def test_the_action_uses_its_inputs_and_no_others() -> None:
    assert names_after(ACTION.read_text(), "inputs") == set(read(ACTION)["inputs"])


def test_each_input_and_output_says_what_it_is() -> None:
    action = read(ACTION)
    assert action["name"]
    assert action["description"]
    assert all({"description", "default"} <= set(one) for one in action["inputs"].values())
    assert all({"description", "value"} <= set(one) for one in action["outputs"].values())


def test_the_outputs_are_written_by_their_step() -> None:
    action = read(ACTION)
    steps = {step["id"]: step for step in action["runs"]["steps"] if "id" in step}
    for output in action["outputs"].values():
        ((step, name),) = re.findall(r"steps\.([\w-]+)\.outputs\.([\w-]+)", output["value"])
        assert f"{name}=" in steps[step]["run"]
        assert "$GITHUB_OUTPUT" in steps[step]["run"]


def test_the_action_gives_matrix_options_that_it_has_and_reads_what_is_set() -> None:
    known = {flag for parameter in matrix.params for flag in parameter.opts}
    for step in read(ACTION)["runs"]["steps"]:
        script = step.get("run", "")
        assert set(re.findall(r"--[\w-]+", script)) <= known
        given = {*step.get("env", ()), *re.findall(r"^\s*(?:for )?(\w+)(?:=| in )", script, re.MULTILINE)}
        read_here = set(re.findall(r"\$\{?(\w+)", script))
        assert read_here <= given | {"PWD", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"}
        assert not script or step["shell"] == "bash"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_uses_inputs_jobs_and_steps_that_it_has(path: Path) -> None:
    text, workflow = path.read_text(), read(path)
    # YAML 1.1 reads the key `on` as a truth value.
    triggers = workflow.get("on") or workflow[True]
    dispatch = triggers.get("workflow_dispatch") if isinstance(triggers, dict) else None
    assert names_after(text, "inputs") <= set((dispatch or {}).get("inputs", ()))
    for job in jobs_of(workflow).values():
        needs = job.get("needs", [])
        assert {needs} if isinstance(needs, str) else set(needs) <= set(jobs_of(workflow))
        assert "runs-on" in job
        assert all(("uses" in step) != ("run" in step) for step in job["steps"])
        assert names_after(msgspec.json.encode(job).decode(), "steps") <= {step.get("id") for step in job["steps"]}


def night_steps() -> Iterator[tuple[str, dict[str, Any]]]:
    """Each step of the workflows that calls `./kit night`, with its command."""
    for job in (job for path in (NIGHTLY, ALARM) for job in jobs_of(read(path)).values()):
        for step in (step for step in job["steps"] if "./kit night" in step.get("run", "")):
            yield step["run"].split()[2], step


def test_the_jobs_of_a_night_only_call_its_commands() -> None:
    """No rule is in a shell: one command a step, whose options exist and whose words come from the environment."""
    assert {name for name, _ in night_steps()} == set(night.commands)
    for name, step in night_steps():
        assert not set(step["run"]) & set("|&;<>()`\n")
        known = {flag for parameter in night.commands[name].params for flag in parameter.opts}
        assert set(re.findall(r"--[\w-]+", step["run"])) <= known
        assert set(re.findall(r"\$(\w+)", step["run"])) <= set(step.get("env", ()))
        assert step["run"].count("$") == step["run"].count('"$')


def test_one_job_writes_issues_one_writes_pages_and_neither_checks_anything_out() -> None:
    jobs = jobs_of(read(NIGHTLY))
    writing = {name: job for name, job in jobs.items() if "write" in job.get("permissions", {}).values()}
    assert {name: job["permissions"] for name, job in writing.items()} == {
        "issues": {"issues": "write"},
        "pages": {"pages": "write", "id-token": "write"},
    }
    assert all("checkout" not in step.get("uses", "") for job in writing.values() for step in job["steps"])
    assert all(read(path)["permissions"] == {"contents": "read"} for path in WORKFLOWS)


def test_what_the_night_publishes_is_decided_by_the_merge() -> None:
    merging = jobs_of(read(NIGHTLY))
    kept = {
        "Keep the nights whole",
        "Keep what was added to them",
        "Nights",
        "What was added to the nights",
        "Site for Pages",
    }
    steps = {step["name"]: step for step in merging["merge"]["steps"] if step.get("name") in kept}
    assert set(steps) == kept
    assert all("steps.merge.outputs.published == 'true'" in step["if"] for step in steps.values())


def test_the_time_of_a_night_is_kept_only_with_the_night() -> None:
    steps = jobs_of(read(NIGHTLY))["merge"]["steps"]
    (step,) = (step for step in steps if step.get("name") == "Keep the time of the night for the alarm")
    checked = [one["id"] for one in steps if one.get("with", {}).get("fail-on-cache-miss")]
    assert re.findall(r"steps\.(\w+)\.outcome == 'success'", step["if"]) == checked == ["whole", "addition"]


def test_downloads_are_saved_whatever_becomes_of_the_job() -> None:
    for job in ("leg", "faults"):
        steps = jobs_of(read(NIGHTLY))[job]["steps"]
        restored, saved = (step for step in steps if step.get("with", {}).get("path", "").startswith("~"))
        assert restored["with"] == saved["with"]
        assert "always()" in saved["if"]
    assert "actions/cache@" not in NIGHTLY.read_text(), "it saves after a green job only"


def test_what_the_night_publishes_is_what_its_pages_show() -> None:
    merging = jobs_of(read(NIGHTLY))
    assert "needs.merge.outputs.published == 'true'" in merging["pages"]["if"]


@pytest.mark.parametrize("path", [ACTION, *WORKFLOWS], ids=lambda path: path.name)
def test_each_script_is_one_of_bash(path: Path) -> None:
    document = read(path)
    jobs = [document["runs"]] if path == ACTION else jobs_of(document).values()
    for script in (script for job in jobs for script in scripts(job["steps"])):
        checked = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stderr


def test_requests_that_cannot_be_read_fail_the_job_that_sends_them(tmp_path: Path) -> None:
    (step,) = (step for step in jobs_of(read(NIGHTLY))["issues"]["steps"] if "run" in step)
    for text in (None, "[{"):
        if text is not None:
            (tmp_path / "issues.json").write_text(text)
        assert subprocess.run(["bash", "-eo", "pipefail", "-c", step["run"]], cwd=tmp_path, check=False).returncode


@pytest.mark.parametrize("path", [ACTION, *WORKFLOWS], ids=lambda path: path.name)
def test_each_action_is_pinned_by_its_digest_and_each_job_names_an_image(path: Path) -> None:
    used = re.findall(r"uses: (.*)", path.read_text())
    assert used
    assert [one for one in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", one)] == []
    assert not re.search("runs-on: .*latest", path.read_text())


def test_one_action_has_one_digest_everywhere() -> None:
    texts = [path.read_text() for path in (ACTION, *WORKFLOWS)]
    used = {(name, pin) for text in texts for name, pin in re.findall(r"uses: ([\w-]+/[\w-]+)[\w/-]*@(.*)", text)}
    assert len({name for name, _ in used}) == len(used)


def test_no_workflow_writes_out_a_version_of_kafka() -> None:
    assert not re.search(r"--kafka-version \d", NIGHTLY.read_text())


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_a_form_has_what_github_asks_for(path: Path) -> None:
    form = read(path)
    assert set(form) <= {"name", "description", "title", "labels", "assignees", "projects", "type", "body"}
    assert form["name"]
    assert form["description"]
    ids = [element["id"] for element in form["body"] if element["type"] != "markdown"]
    assert len(set(ids)) == len(ids)
    for element in form["body"]:
        assert set(element) <= {"type", "id", "attributes", "validations"}
        assert element["attributes"][NEEDED[element["type"]]]
        assert set(element.get("validations", {}).values()) <= {True, False}
        assert set(element.get("validations", {})) <= {"required"}


def test_forms_have_names_of_their_own_and_are_the_only_way() -> None:
    assert len({read(path)["name"] for path in FORMS}) == len(FORMS) == 3
    assert read(ROOT / ".github" / "ISSUE_TEMPLATE" / "config.yml") == {"blank_issues_enabled": False}
