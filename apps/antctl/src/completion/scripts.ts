/** The shells with a completion script. */
export const shells = ["bash", "zsh", "fish"] as const;
/** A shell with a completion script. */
export type Shell = (typeof shells)[number];

/**
 * Flags in the last line of the output of `__complete`, `:6` for both, by Cobra's protocol (ShellCompDirective), which
 * kubectl also uses with the completion programs of its plugins: no space after the word, and no file names if there
 * are no words. Each line before it is a word, with a tab before its description.
 */
export const directive = { noSpace: 2, noFile: 4 } as const;

/**
 * The text of a script that completes the command `name` in this shell: at each completion it runs the program as typed
 * with `__complete` and the words typed.
 */
export function completionScript(shell: Shell, name: string): string {
    const id = name.replaceAll(/[^A-Za-z0-9]/g, "_");
    switch (shell) {
        case "bash":
            return bash(name, id);
        case "zsh":
            return zsh(name, id);
        case "fish":
            return fish(name, id);
    }
}

const bash = (name: string, id: string): string => `# bash completion for ${name}
#   source <(${name} completion bash)
__${id}_complete() {
    local words line value output flags=0 IFS=$'\\n'
    COMPREPLY=()
    # the words up to the cursor, without what bash makes of ":" and "="
    words=\${COMP_LINE:0:COMP_POINT}
    local current=\${COMP_WORDS[COMP_CWORD]}
    local typed=\${words##*[[:space:]]}
    local -a arguments=()
    IFS=$' \\t\\n' read -r -a arguments <<<"$words"
    [[ $words == *[[:space:]] ]] && arguments+=("")
    output=$("\${arguments[0]}" __complete "\${arguments[@]:1}" 2>/dev/null) || return 0
    local -a found=()
    while IFS= read -r line; do
        if [[ $line == :* ]]; then
            flags=\${line#:}
        elif [[ -n $line ]]; then
            value=\${line%%$'\\t'*}
            found+=("$value")
        fi
    done <<<"$output"
    if ((\${#found[@]} == 0)) && (((flags & ${directive.noFile}) == 0)); then
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        return 0
    fi
    # bash replaces only what follows the last ":" or "=" of the word
    local cut=\${typed%"$current"}
    [[ $current =~ ^[:=]+$ ]] && cut=$typed
    for value in "\${found[@]}"; do
        COMPREPLY+=("\${value#"$cut"}")
    done
    if (((flags & ${directive.noSpace}) != 0)); then compopt -o nospace 2>/dev/null; fi
    return 0
}
complete -F __${id}_complete ${name}
`;

const zsh = (name: string, id: string): string => `#compdef ${name}
# zsh completion for ${name}
#   source <(${name} completion zsh)
__${id}_complete() {
    local line value text output flags=0
    local -a found arguments
    arguments=("\${(@)words[2,CURRENT]}")
    output=$("\${words[1]}" __complete "\${arguments[@]}" 2>/dev/null) || return 0
    while IFS= read -r line; do
        if [[ $line == :* ]]; then
            flags=\${line#:}
        elif [[ -n $line ]]; then
            value=\${line%%$'\\t'*}
            text=\${line#*$'\\t'}
            value=\${value//:/\\\\:}
            if [[ $line == *$'\\t'* ]]; then found+=("$value:$text"); else found+=("$value"); fi
        fi
    done <<<"$output"
    if ((\${#found} == 0)); then
        (((flags & ${directive.noFile}) == 0)) && _files
        return 0
    fi
    if (((flags & ${directive.noSpace}) != 0)); then
        _describe '${name}' found -S ''
    else
        _describe '${name}' found
    fi
}
compdef __${id}_complete ${name}
`;

const fish = (name: string, id: string): string => `# fish completion for ${name}
#   ${name} completion fish | source
function __${id}_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l output ($words[1] __complete $words[2..-1] "$current" 2>/dev/null)
    or return 0
    set -l flags 0
    set -l found
    for line in $output
        if string match -q ':*' -- $line
            set flags (string sub -s 2 -- $line)
        else if test -n "$line"
            set -a found $line
        end
    end
    if test (count $found) -eq 0; and test (math "bitand($flags, ${directive.noFile})") -eq 0
        __fish_complete_path "$current"
    else
        printf '%s\\n' $found
    end
end
complete -c ${name} -f -a '(__${id}_complete)'
`;
