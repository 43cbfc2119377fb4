# SPDX-License-Identifier: GPL-3.0-or-later
# Bash completion for tokenloupe-cli.

_tokenloupe_cli()
{
    local current=${COMP_WORDS[COMP_CWORD]}
    local previous=${COMP_WORDS[COMP_CWORD-1]}
    local commands="inspect tokenize render run sample score bench"
    COMPREPLY=()

    if [[ $COMP_CWORD -eq 1 ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$commands --help --version" -- "$current")
        return
    fi

    case $previous in
        --backend)
            mapfile -t COMPREPLY < <(compgen -W "cpu cuda" -- "$current")
            return ;;
        --precision)
            mapfile -t COMPREPLY < <(compgen -W "exact fast" -- "$current")
            return ;;
        --kv-type-k|--kv-type-v)
            mapfile -t COMPREPLY < <(compgen -W "f32 f16" -- "$current")
            return ;;
        --samplers)
            mapfile -t COMPREPLY < <(compgen -W "logit_bias penalties top_k top_p min_p temperature" -- "$current")
            return ;;
        --against)
            mapfile -t COMPREPLY < <(compgen -W "exact" -- "$current"; compgen -f -- "$current")
            compopt -o filenames 2>/dev/null
            return ;;
    esac

    if [[ $current == -* ]]; then
        local session="--threads --context --kv-type-k --kv-type-v --precision --backend"
        local options="--json --help --version"
        case ${COMP_WORDS[1]} in
            tokenize) options+=" --file --jsonl --special --add-special --merges --decode" ;;
            render) options+=" --template --messages --jsonl --vars --no-generation-prompt" ;;
            run) options+=" --prompt --prompt-file --ids --chat --predict --seed --top --stages --ignore-eos
                --no-cache --temp --top-k --top-p --min-p --repeat-penalty --repeat-last-n --presence-penalty
                --frequency-penalty --logit-bias --samplers $session" ;;
            sample) options+=" --cases" ;;
            score) options+=" --file --ids --special --top --against $session" ;;
            bench) options+=" --prompt-tokens --predict --repetitions --depth --sampler --tokenizer --trace
                $session" ;;
        esac
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
        return
    fi

    mapfile -t COMPREPLY < <(compgen -f -- "$current")
    compopt -o filenames 2>/dev/null
}

complete -F _tokenloupe_cli tokenloupe-cli
