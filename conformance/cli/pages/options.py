"""The page of all commands and options, generated from click's commands and pytest's options."""

from collections.abc import Iterator

import click

from conformance.cli.app import COMMANDS, kit
from conformance.cli.group import HELP
from conformance.running.settings import OPTIONS
from history.exit_codes import EXIT_INTERRUPTED, EXIT_SATISFIED, EXIT_TROUBLE, EXIT_VIOLATED, EXIT_WRONG_USE

PASSING = ("miniature", "pytest", "tests")
"""Commands that pass their words on to a program with its own help."""
EXITS = {
    EXIT_SATISFIED: "nothing violated and something satisfied",
    EXIT_VIOLATED: "a requirement is violated; with `--baseline`: newly; for a command that compares: something differs",
    EXIT_WRONG_USE: "wrong use, or nothing matched",
    EXIT_TROUBLE: "trouble of the kit, the engine or the machine",
    EXIT_INTERRUPTED: "interrupted: by Ctrl-C, SIGTERM (a cancelled CI job) or a closing terminal",
}


def options_page() -> str:
    """Return the page of all commands and options."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield from ("# Commands and options", "", "Made from the command line itself.", "")
    yield from ("| exit code | |", "|---|---|", *(f"| {code} | {about} |" for code, about in EXITS.items()))
    yield from ("", "| command | |", "|---|---|")
    yield from (f"| [{name}](#{name}) | {summary} |" for name, (_, summary) in COMMANDS.items())
    yield from _options_of_checks()
    for name in COMMANDS:
        command = kit.get_command(click.Context(kit), name)
        if command is not None:
            yield from _command(command, f"./kit {name}", 2)


def _options_of_checks() -> Iterator[str]:
    yield from ("", "## Options of checks {#options-of-checks}", "")
    yield "Taken by `./kit pytest`, and by `./kit matrix`, which hands them on. Each is an environment variable"
    yield f"(`{OPTIONS[0].variable}`), and an ini value with underscores, as well. `--out` and `--profile` are short for"
    yield "`--conformance-out` and `--conformance-profile`."
    yield from ("", "| option | |", "|---|---|")
    for option in OPTIONS:
        value = f" {option.metavar}" if option.metavar else ""
        yield f"| `{option.flag}{value}` | {_escape(option.help)} |"


def _command(command: click.Command, name: str, depth: int) -> Iterator[str]:
    yield from ("", f"{'#' * depth} {name.split()[-1]}", "", _paragraphs(command))
    if command.name in PASSING:
        return
    # click keeps the help option of the first context that requests it.
    with click.Context(command, info_name=name, **HELP) as context:
        yield from ("", "```text", " ".join([name, *context.command.collect_usage_pieces(context)]), "```")
        rows = [record for one in command.params if (record := _record(one, context))]
    if rows:
        yield from ("", "| option | |", "|---|---|")
        yield from (f"| `{flag}` | {_escape(about)} |" for flag, about in rows)
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            inner = command.get_command(context, each)
            if inner is not None:
                yield from _command(inner, f"{name} {each}", depth + 1)


def _record(parameter: click.Parameter, context: click.Context) -> tuple[str, str] | None:
    found = parameter.get_help_record(context)
    return (found[0], " ".join(found[1].split())) if found else None


def _paragraphs(command: click.Command) -> str:
    text = click.unstyle(command.help or command.get_short_help_str(200)).replace("\b", "")
    return "\n".join(line.strip() for line in text.splitlines())


def _escape(text: str) -> str:
    """Escape a text for a table cell outside of code, where a bar would end the cell and a bracket begin a tag."""
    return text.replace("|", "\\|").replace("<", "&lt;")
