# Set up what Atlas stands on: Python, a virtual environment from the lock files, model files. Sourced by up and check.
#
# Every step is skipped when its stamp says that nothing it depends on has changed, so a second run needs no network.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
began=$SECONDS

say() { printf 'atlas  %3ds  %s\n' "$((SECONDS - began))" "$*"; }
fail() { printf 'atlas: %s\n' "$*" >&2; exit 1; }

stoppable() { # Ctrl-C while things are set up is no failure of theirs
    trap 'printf "\natlas: stopped. What is done is kept: run it again to go on.\n" >&2; rm -f "${log:-}"; exit 130' INT
}

find_python() { # print the newest Python that will do; 3.11 to 3.14 are what the locked wheels exist for
    local candidate
    for candidate in ${ATLAS_PYTHON:-python3.13 python3.12 python3.11 python3 python3.14}; do
        if command -v "$candidate" >/dev/null 2>&1 &&
            "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null; then
            command -v "$candidate"
            return
        fi
    done
    fail "Python 3.11 to 3.14 is needed and $(python3 --version 2>/dev/null || echo 'no Python') is here: install it (Debian, Ubuntu: apt install python3 python3-venv)."
}

debian_packages() { # install what is missing, when this is Debian and we may; else say what to install
    local missing=() package
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
    done
    [ ${#missing[@]} -eq 0 ] && return
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        say "installing from Debian: ${missing[*]}"
        { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "${missing[@]}"; } >/dev/null ||
            fail "apt-get could not install ${missing[*]}: run 'apt install ${missing[*]}' and read what it says."
    else
        fail "please install: ${missing[*]} (Debian, Ubuntu: sudo apt install ${missing[*]})."
    fi
}

compiler() { # llama.cpp is compiled here; nothing else is
    command -v c++ >/dev/null 2>&1 || command -v g++ >/dev/null 2>&1 || command -v clang++ >/dev/null 2>&1 || {
        [ "${ATLAS_MAY_INSTALL:-}" = 1 ] && debian_packages g++ && return
        fail "a C++ compiler is needed, once, to build llama.cpp: install one (Debian, Ubuntu: sudo apt install g++)."
    }
}

show_compiling() { # the log of pip → a line now and then about the one long step
    awk -v cores="$(nproc)" '
        # ninja counts its steps as [57/140]; everything else is kept for the case that it fails
        match($0, /\[[0-9]+\/[0-9]+\]/) {
            split(substr($0, RSTART + 1, RLENGTH - 2), step, "/")
            if (step[2] > 40 && (!told || step[1] == step[2] || systime() >= next_time)) {
                if (!told) printf "atlas        compiling llama.cpp, once: about %d minutes on %d cores\n", 10 / cores + 1, cores
                told = 1; next_time = systime() + 15
                printf "atlas        llama.cpp %d of %d\n", step[1], step[2]; fflush()
            }
            next
        }
        /^ *(ERROR|error:|fatal error)|: error:/ { print }
    '
}

show_last_words() { # show_last_words LOG: how it ended, for the person who must mend it
    tail -n 10 "$1" 2>/dev/null | sed 's/^/       /'
}

prepare() { # prepare LOCK: the environment of that lock file, ready to run
    local lock=$1 python stamp wanted log
    cd "$root" || fail "cannot enter $root"
    stoppable
    python=$(find_python) || exit 1
    stamp=.venv/.prepared-$(basename "$lock" .lock)
    wanted=$("$python" -c 'import sys; print(sys.version, sys.prefix)'; cat "$lock" scripts/pip.lock pyproject.toml; pwd -P)
    wanted=$(printf '%s' "$wanted" | sha256sum | cut -d' ' -f1)
    if [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then
        say "environment is as locked"
        return
    fi
    if ! [ -x .venv/bin/python ] || ! cmp -s <(.venv/bin/python -c 'import sys; print(sys.version)' 2>/dev/null) <("$python" -c 'import sys; print(sys.version)') ||
        [ "$(sed -n 's/^VIRTUAL_ENV=.\(.*\).$/\1/p' .venv/bin/activate 2>/dev/null | head -n 1)" != "$root/.venv" ]; then
        say "making the virtual environment with $("$python" --version)"
        rm -rf .venv
        "$python" -m venv .venv >/dev/null 2>&1 || {
            rm -rf .venv
            fail "Python cannot make virtual environments: install that part of it (Debian, Ubuntu: sudo apt install python3-venv)."
        }
    fi
    .venv/bin/python -c 'import llama_cpp' 2>/dev/null || compiler
    say "installing what $lock names, checked by hash"
    # The pip of an old Python cannot reuse a wheel that it compiled once when hashes are asked for; this one can.
    .venv/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r scripts/pip.lock ||
        fail "the package registry did not answer: check the network, then run this again."
    log=$(mktemp) || fail "no file can be made in ${TMPDIR:-/tmp}: is the disk full?"
    # The examples and vision tools of llama.cpp are not used; leaving them out saves a minute.
    CMAKE_ARGS="${CMAKE_ARGS:--DLLAVA_BUILD=OFF}" .venv/bin/python -m pip install --disable-pip-version-check \
        --require-hashes --build-constraint scripts/build.lock -v -r "$lock" 2>&1 | tee "$log" | show_compiling
    [ "${PIPESTATUS[0]}" = 0 ] || {
        show_last_words "$log"
        fail "installing failed; the lines above say why, and $log has all of them. Run it again once that is mended: what is done is kept."
    }
    rm -f "$log"
    mkdir -p pwa/dist || fail "no folder can be made in $root/pwa: whose is it?"  # pyproject.toml names it; built later
    .venv/bin/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation --no-index -e . ||
        fail "Atlas itself could not be installed."
    printf '%s' "$wanted" >"$stamp"
}

weights() { # the default model files, verified
    .venv/bin/atlas models fetch || exit 1
}

app() { # app [--check]: the phone's app, built when its sources changed
    say "the app"
    .venv/bin/python scripts/build_app.py "$@" || fail "the app could not be built: mend what is said above, then run this again."
}
