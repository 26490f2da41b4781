# Shell functions with which qemu/run and tests/run set up what they need. Sourced; expects the checkout's root in $root.

# The toolchain's name stands in one place, rust-toolchain.toml.
toolchain=$(sed -n 's/^channel *= *"\(.*\)"/\1/p' "$root/rust-toolchain.toml")

# say MESSAGE...: to the person waiting.
say() {
    echo "${0##*/}: $*" >&2
}

# give_up MESSAGE...: what is missing cannot be set up here.
give_up() {
    say "$*"
    exit 1
}

# need_toolchain: the pinned toolchain with its components. It is installed by name because automatic installation may
# be switched off (RUSTUP_AUTO_INSTALL=0).
need_toolchain() {
    command -v rustup >/dev/null ||
        give_up "rustup not found in PATH: install it (https://rustup.rs), then run this again"
    installed=$(rustup component list --toolchain "$toolchain" --installed 2>/dev/null) || installed=
    for component in rust-src rustfmt clippy; do
        case "$installed" in
        *"$component"*) ;;
        *)
            say "installing the Rust toolchain $toolchain"
            rustup toolchain install "$toolchain" --profile minimal \
                --component rust-src --component rustfmt --component clippy >&2 ||
                give_up "the Rust toolchain $toolchain with rust-src, rustfmt and clippy could not be installed:" \
                    "check the network, then run this again"
            return
            ;;
        esac
    done
}

# need_programs PROGRAM:PACKAGE...: programs in PATH, or files by their absolute path, from Debian packages where they
# are missing.
need_programs() {
    packages=
    for pair; do
        case "$pair" in
        /*) [ -e "${pair%%:*}" ] || packages="$packages ${pair#*:}" ;;
        *) command -v "${pair%%:*}" >/dev/null || packages="$packages ${pair#*:}" ;;
        esac
    done
    [ -n "$packages" ] || return 0
    command -v apt-get >/dev/null ||
        give_up "missing:$packages (Debian's names); there is no apt-get here: install them, then run this again"
    [ "$(id -u)" = 0 ] ||
        give_up "missing packages, and this is not root: run 'apt-get install$packages' as root, then run this again"
    say "installing$packages"
    # The lists may be absent or too old; only then they are worth the time. $packages is a list of words.
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >&2 2>/dev/null || {
        apt-get update -qq >&2
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >&2
    } || give_up "'apt-get install$packages' failed: check the network, then run this again"
}
