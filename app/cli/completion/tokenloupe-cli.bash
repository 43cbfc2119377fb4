# SPDX-License-Identifier: GPL-3.0-or-later
# Bash completion for tokenloupe-cli.

_tokenloupe_cli()
{
    local current=${COMP_WORDS[COMP_CWORD]}
    local previous=${COMP_WORDS[COMP_CWORD-1]}
    local commands="inspect tokenize render run sample score estimate bench"
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
        --quantize)
            mapfile -t COMPREPLY < <(compgen -W "stored q8_0 q6_k q5_k q4_k q4_0" -- "$current")
            return ;;
        --kv-type-k|--kv-type-v)
            mapfile -t COMPREPLY < <(compgen -W "f32 f16 bf16 q8_0 q5_1 q5_0 q4_1 q4_0" -- "$current")
            return ;;
        --overflow)
            mapfile -t COMPREPLY < <(compgen -W "stop drop-turns streaming" -- "$current")
            return ;;
        --flash-attention)
            mapfile -t COMPREPLY < <(compgen -W "on off" -- "$current")
            return ;;
        --layout)
            mapfile -t COMPREPLY < <(compgen -W "paged contiguous" -- "$current")
            return ;;
        --split)
            mapfile -t COMPREPLY < <(compgen -W "layers tensors" -- "$current")
            return ;;
        --weights|--draft-weights)
            mapfile -t COMPREPLY < <(compgen -W "stored F32 F16 BF16 FP8 INT8 Q8_0 Q6_K Q5_K_M Q4_K_M Q4_0 Q3_K_M
                IQ4_XS MXFP4 INT4" -- "$current")
            return ;;
        --gpu)
            # Names hold spaces; the program finds them without.
            mapfile -t COMPREPLY < <(compgen -W "$("${COMP_WORDS[0]}" estimate --list-gpus --json 2>/dev/null |
                grep -o '"name":"[^"]*"' | cut -d'"' -f4 | tr -d ' ()')" -- "$current")
            return ;;
        --shape|--draft)
            mapfile -t COMPREPLY < <(compgen -W "$("${COMP_WORDS[0]}" estimate --list-shapes 2>/dev/null)" -- "$current"
                compgen -f -- "$current")
            compopt -o filenames 2>/dev/null
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
        local session="--threads --context --kv-type-k --kv-type-v --kv-block --precision --backend --device-layers"
        local options="--json --help --version"
        case ${COMP_WORDS[1]} in
            tokenize) options+=" --file --jsonl --special --add-special --merges --decode" ;;
            render) options+=" --template --messages --jsonl --vars --no-generation-prompt" ;;
            run) options+=" --prompt --prompt-file --ids --chat --predict --seed --top --stages --ignore-eos
                --no-cache --overflow --sinks --temp --top-k --top-p --min-p --repeat-penalty --repeat-last-n --presence-penalty
                --frequency-penalty --logit-bias --samplers $session" ;;
            sample) options+=" --cases" ;;
            score) options+=" --file --ids --special --top --against $session" ;;
            estimate) options+=" --shape --context --batch --micro-batch --kv-type-k --kv-type-v --weights --gpu --vram
                --this-machine --measure --flash-attention --layout --block-tokens --beams --prompt --draft
                --draft-weights --split --host-memory --threads --table --list-gpus --list-shapes" ;;
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
