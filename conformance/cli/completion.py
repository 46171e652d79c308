"""`./kit completion SHELL`: the script with which a shell completes the kit's words.

The shell runs the command of the line with `COMPLETION` set, and click answers in place of the command. The scripts are
the kit's own, since click's look the command up in the PATH, where a checkout's `./kit` is not.
"""

from pathlib import Path
from typing import Final

import click

from conformance.cli.group import HELP
from history.command import COMMAND, COMPLETION

NAME: Final = Path(COMMAND).name
BASH: Final = """\
_kit_completion() {
    local IFS=$'\\n' type value
    while IFS=, read -r type value; do
        case $type in
            plain) COMPREPLY+=("$value") ;;
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
        esac
    done < <(COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD VARIABLE=bash_complete "$1" 2>/dev/null)
}
complete -o nosort -F _kit_completion NAME
"""
ZSH: Final = """\
#compdef NAME
_kit_completion() {
    local -a response described plain
    local type key about
    response=("${(@f)$(COMP_WORDS="${words[*]}" COMP_CWORD=$((CURRENT-1)) VARIABLE=zsh_complete ${words[1]} 2>/dev/null)}")
    for type key about in ${response}; do
        case $type in
            plain) if [[ $about == _ ]]; then plain+=("$key"); else described+=("$key:$about"); fi ;;
            dir) _path_files -/ ;;
            file) _path_files -f ;;
        esac
    done
    if (( $#described )); then _describe -V unsorted described -U; fi
    if (( $#plain )); then compadd -U -V unsorted -a plain; fi
}
compdef _kit_completion NAME
"""
FISH: Final = """\
function _kit_completion
    set -l words (commandline -opc)
    for line in (env VARIABLE=fish_complete COMP_WORDS=(commandline -cp | string collect) \\
            COMP_CWORD=(commandline -t | string collect) $words[1] 2>/dev/null)
        set -l parts (string split -m 1 , -- $line)
        switch $parts[1]
            case plain
                echo $parts[2]
            case dir
                __fish_complete_directories $parts[2]
            case file
                __fish_complete_path $parts[2]
        end
    end
end
complete --no-files --command NAME --arguments '(_kit_completion)'
"""
SCRIPTS: Final = {"bash": BASH, "zsh": ZSH, "fish": FISH}


@click.command(context_settings=HELP)
@click.argument("shell", type=click.Choice(list(SCRIPTS)))
def completion(shell: str) -> None:
    """Print the script with which SHELL completes commands, options, rows, versions, profiles, faults and machines.

    \b
    bash  eval "$(./kit completion bash)"
    zsh   eval "$(./kit completion zsh)", after compinit
    fish  ./kit completion fish | source

    To have it in each session, write the line with the full path of ./kit into ~/.bashrc, ~/.zshrc or
    ~/.config/fish/config.fish.
    """
    click.echo(SCRIPTS[shell].replace("VARIABLE", COMPLETION).replace("NAME", NAME), nl=False)
