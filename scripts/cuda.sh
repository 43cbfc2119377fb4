# A CUDA compiler for everyone who has an NVIDIA driver. Sourced by common.sh, not run.

nvidia_version_file=/proc/driver/nvidia/version
cuda_least_driver=580 # of CUDA 13
cuda_packages=(nvidia-cuda-nvcc nvidia-cuda-crt nvidia-nvvm nvidia-cuda-runtime nvidia-cuda-cccl nvidia-cublas)
cuda_version="13.0.*"
cuda_usual_folders=(/usr/local/cuda /opt/cuda)
cuda_folder=$data_folder/cuda-13.0 # a virtual environment of Python; nothing else is kept in it

# ---- the driver ---------------------------------------------------------------------------------

# version_of_smi, version_of_proc: the driver's version in what nvidia-smi or the kernel module tells (standard input);
# nothing where there is none, as when nvidia-smi tells that it cannot reach the driver.
version_of_smi() { sed -nE '/^[[:space:]]*([0-9]{3,}(\.[0-9]+)+)[[:space:]]*$/{s//\1/p;q}'; }
version_of_proc() { sed -nE '/^NVRM version:.*[[:space:]]([0-9]{3,}(\.[0-9]+)+)[[:space:]].*/{s//\1/p;q}'; }

# The driver's library for programs, as the loader knows it; the file's own name ends with the version.
driver_library() {
    (PATH=$PATH:/usr/sbin:/sbin ldconfig -p 2>/dev/null || true) |
        sed -nE '/^[[:space:]]*libcuda\.so\.1 \(libc6,[^)]*\) => (.*)$/{s//\1/p;q}'
}

# nvidia_driver: prints the driver's version, "unknown" where there is one that does not tell, and fails where none is.
nvidia_driver() {
    local version='' library='' found=
    if command -v nvidia-smi >/dev/null; then
        version=$( (nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null || true) | version_of_smi)
    fi
    if [[ -z $version && -r $nvidia_version_file ]]; then
        found=1
        version=$(version_of_proc <"$nvidia_version_file")
    fi
    if [[ -z $version ]]; then
        library=$(driver_library)
        if [[ -n $library && -e $library ]]; then
            found=1
            library=$(readlink -f "$library")
            version=${library##*/libcuda.so.}
            [[ $version =~ ^[0-9]{3,}(\.[0-9]+)+$ ]] || version=
        fi
    fi
    [[ -n $version || -n $found ]] && printf '%s\n' "${version:-unknown}"
}

# driver_problem VERSION: why CUDA programs that are built here would not run with it, in one line; else nothing.
driver_problem() {
    [[ $1 == unknown ]] || ((10#${1%%.*} >= cuda_least_driver)) ||
        printf 'the NVIDIA driver here is version %s, and CUDA 13 needs %s or newer\n' "$1" "$cuda_least_driver"
}

# ---- the compiler -------------------------------------------------------------------------------

# Where the packages put the toolkit, inside the virtual environment.
cuda_toolkit() {
    local folder
    for folder in "$cuda_folder"/lib/python3*/site-packages/nvidia/cu13; do
        [[ -f $cuda_folder/whole && -x $folder/bin/nvcc ]] && printf '%s\n' "$folder" && return 0
    done
    return 1
}

# find_nvcc: the compiler that a build will take, in the order in which CMake looks, and then the one set up here.
find_nvcc() {
    local folder
    if [[ -n ${CUDACXX:-} ]]; then
        command -v "$CUDACXX" && return 0
    fi
    command -v nvcc && return 0
    for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}" "${cuda_usual_folders[@]}" "$(cuda_toolkit || true)"; do
        [[ -n $folder && -x $folder/bin/nvcc ]] && printf '%s\n' "$folder/bin/nvcc" && return 0
    done
    return 1
}

# use_nvcc: builds from here on take the compiler that is there, if one is.
use_nvcc() {
    local nvcc
    if nvcc=$(find_nvcc); then
        export CUDACXX=$nvcc
    fi
}

# set_up_cuda: fetches compiler, runtime, headers and cuBLAS as Python packages. They come without the names by which
# linkers look for libraries, so those are added.
set_up_cuda() {
    local toolkit package wanted=()
    toolkit=$(cuda_toolkit) && return 0
    python3 -m pip --version >/dev/null 2>&1 || install_packages "${fetch_packages[@]}"
    mkdir -p "$cuda_folder" || fail "cannot write to $data_folder"
    exec 8>"$cuda_folder.lock"
    flock -n 8 || fail "the CUDA toolkit is being set up already"
    for package in "${cuda_packages[@]}"; do
        wanted+=("$package==$cuda_version")
    done
    say "setting up the CUDA toolkit in $cuda_folder (0.5 GB to fetch, 0.9 GB on disk)"
    python3 -m venv --clear --without-pip "$cuda_folder" >&2 &&
        python3 -m pip --python "$cuda_folder/bin/python" install --disable-pip-version-check --no-cache-dir \
            --no-deps "${wanted[@]}" >&2 ||
        fail "the CUDA toolkit could not be set up. Without it: scripts/run, which computes on the CPU"
    touch "$cuda_folder/whole"
    toolkit=$(cuda_toolkit) || fail "the packages in $cuda_folder do not hold a CUDA toolkit as expected"
    [[ -e $toolkit/lib64 ]] || ln -s lib "$toolkit/lib64"
    [[ -e $toolkit/lib/libcudart.so ]] || ln -s libcudart.so.13 "$toolkit/lib/libcudart.so"
    "$toolkit/bin/nvcc" --version >/dev/null || {
        rm -f "$cuda_folder/whole"
        fail "the CUDA compiler in $cuda_folder does not start"
    }
    exec 8>&-
    rm -f "$cuda_folder.lock"
}

# want_cuda: what --cuda does.
want_cuda() {
    local version problem
    version=$(nvidia_driver) ||
        fail "no NVIDIA driver was found here (no nvidia-smi, $nvidia_version_file or libcuda.so.1), so no CUDA program can run"
    find_nvcc >/dev/null && return 0 # perhaps of an older CUDA, for an older driver
    problem=$(driver_problem "$version")
    [[ -z $problem ]] || fail "$problem. Without --cuda the program computes on the CPU"
    [[ $version != unknown ]] || say "the NVIDIA driver does not tell its version; CUDA 13 needs $cuda_least_driver or newer"
    set_up_cuda
}

# offer_cuda: asks once, where there is a driver and no compiler; says it where nobody can answer.
offer_cuda() {
    local version problem answer='' declined=$data_folder/cuda-declined
    find_nvcc >/dev/null && return 0
    version=$(nvidia_driver) || return 0
    problem=$(driver_problem "$version")
    if [[ -n $problem ]]; then
        say "$problem: computing on the CPU"
        return 0
    fi
    [[ -f $declined ]] && return 0
    if [[ ! -t 0 || ! -t 2 ]]; then
        say "there is an NVIDIA driver and no CUDA compiler: scripts/run --cuda sets one up, to compute on the GPU"
        return 0
    fi
    printf '%s\n' "There is an NVIDIA driver here (version $version), but no CUDA compiler, which it takes to build for the GPU." \
        "It can be set up in $cuda_folder: 0.5 GB to fetch, 0.9 GB on disk." >&2
    read -r -p "Set it up? [y/N] " answer || true
    if [[ ${answer,,} == y || ${answer,,} == yes ]]; then
        set_up_cuda
    else
        mkdir -p "$data_folder"
        touch "$declined"
        say "scripts/run --cuda does it later"
    fi
}

# cuda_is_new FOLDER: this build folder was configured without the CUDA compiler that is there now, or with one that is
# gone. A compiler that CMake could not use is tried once.
cuda_is_new() {
    local cache=$1/CMakeCache.txt known nvcc
    [[ -f $cache ]] && grep -q '^TOKENLOUPE_CUDA:BOOL=ON' "$cache" || return 1
    known=$(sed -nE 's/^CMAKE_CUDA_COMPILER:[A-Z]+=//p' "$cache")
    nvcc=$(find_nvcc || true)
    [[ $known == "$nvcc" || -x $known ]] && return 1
    [[ $nvcc != "$(cat "$1/nvcc-tried" 2>/dev/null)" ]]
}
