# Sourced by ./tilewright and ./test: what is missing is installed from the system's packages or the user's Python index.
# POSIX sh. Everything that is said goes to standard error.

oldest_clang=17
oldest_rust=1.95

say() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
}

# fail STATUS WORDS: ends the script.
fail() {
    status=$1
    shift
    say "$*"
    exit "$status"
}

have() {
    command -v "$1" >/dev/null 2>&1
}

# Installs Debian packages; false where that is not possible. TILEWRIGHT_INSTALL=0 forbids it.
apt_install() {
    if [ "${TILEWRIGHT_INSTALL:-1}" = 0 ] || ! have apt-get; then
        return 1
    fi
    as_root=
    if [ "$(id -u)" != 0 ]; then
        have sudo || return 1
        as_root=sudo
    fi
    say "installing $* from the system's packages (apt-get)"
    DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y --no-install-recommends "$@" >&2
}

# Refreshes the lists of packages, once a run.
apt_update() {
    if [ "${TILEWRIGHT_INSTALL:-1}" = 0 ] || ! have apt-get || [ -n "${apt_updated:-}" ]; then
        return 0
    fi
    apt_updated=1
    if [ "$(id -u)" = 0 ]; then
        apt-get update >&2 || true
    elif have sudo; then
        sudo apt-get update >&2 || true
    fi
}

need_rust() {
    if ! have cargo && [ -x "${CARGO_HOME:-$HOME/.cargo}/bin/cargo" ]; then
        PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
        export PATH
    fi
    if have cargo && cargo --version >/dev/null 2>&1; then
        return 0
    fi
    if have rustup; then
        say "installing the stable Rust toolchain with rustup"
        rustup toolchain install stable --profile minimal >&2 && return 0
    fi
    fail 3 "Rust is missing: install $oldest_rust or newer (https://rustup.rs, or Debian's package rustup), then run this again"
}

# Says what is wrong when a build failed because the compiler is too old.
explain_old_rust() {
    version=$(rustc --version 2>/dev/null | sed 's/^rustc \([0-9]*\.[0-9]*\).*/\1/')
    major=${version%%.*}
    minor=${version#*.}
    if [ -n "$version" ] && { [ "$major" -lt 1 ] || [ "$minor" -lt "${oldest_rust#*.}" ]; }; then
        fail 3 "Rust $version is too old: $oldest_rust or newer is needed (rustup update stable)"
    fi
}

need_cc() {
    have cc && return 0
    apt_update
    apt_install gcc libc6-dev && have cc && return 0
    fail 3 "a C compiler is missing: install gcc and libc6-dev (or any cc), then run this again"
}

# Whether a clang that is new enough is on PATH, or TILEWRIGHT_CLANG names one.
have_clang() {
    [ -n "${TILEWRIGHT_CLANG:-}" ] && return 0
    for version in 22 21 20 19 18 17; do
        have "clang-$version" && return 0
    done
    have clang || return 1
    version=$(clang --version 2>/dev/null | sed -n 's/.*clang version \([0-9]*\).*/\1/p' | head -n 1)
    [ -n "$version" ] && [ "$version" -ge "$oldest_clang" ]
}

# The clang package to install: 19, which is in Debian since 12, else the newest that is new enough.
clang_package() {
    for version in 19 22 21 20 18 17; do
        if apt-cache show "clang-$version" >/dev/null 2>&1; then
            echo "clang-$version"
            return 0
        fi
    done
    return 1
}

# Kernels are compiled by clang. Without it the program still builds, shows and interprets, and says what is missing.
need_clang() {
    have_clang && return 0
    if have apt-cache; then
        package=$(clang_package) || { apt_update; package=$(clang_package) || package=; }
        if [ -n "$package" ]; then
            apt_install "$package" && return 0
            apt_update
            apt_install "$package" && return 0
        fi
    fi
    say "clang $oldest_clang or newer is missing and could not be installed: compiling kernels will not work until it is there"
}
