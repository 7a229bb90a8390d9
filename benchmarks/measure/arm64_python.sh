#!/usr/bin/env bash
# Set up an ARM64 Python with LiteRT and ONNX Runtime that runs on x86-64 under QEMU, and a counter of its instructions.
#
#     benchmarks/measure/arm64_python.sh [DEST]      makes DEST (runs/arm64, where benchmarks/compare.py --target qemu:CPU looks)
#     runs/arm64/python-arm64 cortex-a72 script.py      runs a script on one of the CPUs in runs/arm64/cpus
#
# QEMU 7.2 of Debian 12 (bookworm): later ones of Debian are linked statically and take no plugins, so they count nothing. It
# emulates no /proc/cpuinfo, and both runtimes crash on that of an x86 machine; each CPU's own, as Linux gives it, lies under
# cpus/. Its "max" runs without SME: the instruction SMOPA of this QEMU leaves every second row of a product zero, and LiteRT
# multiplies int8 by it where it can. SMMLA, of i8mm, is right. SVE is off too, since its vectors are longer than those of phones.
#
# What decides the figures, the wheels, is pinned by SHA-256. Debian's packages are what its signature vouches for in bookworm,
# since a pinned version vanishes from the mirrors with the next security update; versions.txt says which came. Nothing of the
# machine itself is changed: apt gets a state of its own.
set -euo pipefail

fail() {
    echo "error: $1" >&2
    exit 1
}

[ $# -le 1 ] || fail "usage: arm64_python.sh [DEST]"
here=$(cd "$(dirname "$0")" && pwd)
dest=${1:-runs/arm64}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

if [ -f "$dest/versions.txt" ]; then
    echo "$dest is set up already; remove it to set it up again" >&2
    exit 0
fi
[ ! -e "$dest" ] || fail "$dest exists and is not a set-up; give another folder or remove it"
[ "$(uname -sm)" = "Linux x86_64" ] || fail "an x86-64 Linux is needed; an ARM64 machine needs no QEMU (--target cpu)"
for tool in apt-get dpkg-deb gcc python3; do
    command -v $tool >/dev/null || fail "$tool not found; Debian's apt, gcc and python3 with pip are needed"
done
# Without a virtual environment Debian keeps pip in a package of its own; downloading needs no more than pip.
pip=(python3 -m pip --disable-pip-version-check)
"${pip[@]}" --version >/dev/null 2>&1 || fail "python3 -m pip does not work; activate .venv or install python3-pip"
[ -r $keyring ] || fail "$keyring not found; install Debian's package debian-archive-keyring"
mirror=$(apt-get indextargets --format '$(REPO_URI)' | grep -E '/debian/?$' | sort -u | head -n 1) ||
    fail "apt knows no Debian mirror on this machine (apt-get indextargets)"

mkdir -p "$(dirname "$dest")"
dest=$(cd "$(dirname "$dest")" && pwd)/$(basename "$dest")
work=$(mktemp -d "$dest.partial.XXXXXX")
trap 'rm -rf "$work"' EXIT
tree=$work/tree
mkdir -p "$tree"

# fetch ARCHITECTURE FOLDER PACKAGE...: unpack packages of bookworm, with all they depend on, into a folder of the tree.
fetch() {
    local apt=$work/apt-$1 architecture=$1 folder=$tree/$2
    shift 2
    mkdir -p "$apt"/{state/lists/partial,cache/archives/partial,etc/apt.conf.d,etc/preferences.d,etc/sources.list.d} "$folder"
    : >"$apt/state/status"
    echo "deb [signed-by=$keyring] $mirror bookworm main" >"$apt/etc/sources.list"
    cat >"$apt/apt.conf" <<CONF
APT::Architecture "$architecture";
APT::Architectures { "$architecture"; };
APT::Install-Recommends "false";
APT::Sandbox::User "root";
APT::Update::Error-Mode "any";
Acquire::Languages "none";
Acquire::Retries "2";
Dir::State "$apt/state";
Dir::State::status "$apt/state/status";
Dir::Cache "$apt/cache";
Dir::Etc "$apt/etc";
CONF
    echo "fetching $* for $architecture from $mirror (Debian bookworm)" >&2
    APT_CONFIG=$apt/apt.conf apt-get -qq update || fail "no package list from $mirror; is there a network?"
    APT_CONFIG=$apt/apt.conf apt-get -qq install --yes --download-only "$@" >/dev/null || fail "$* could not be downloaded"
    for deb in "$apt"/cache/archives/*.deb; do
        dpkg-deb --extract "$deb" "$folder"
    done
    for package in "$@"; do
        dpkg-deb --show --showformat '${Package} ${Version}\n' "$apt/cache/archives/$package"_*.deb >>"$work/versions.txt"
    done
}

fetch amd64 qemu qemu-user
fetch arm64 sysroot python3.11-minimal libpython3.11-stdlib libstdc++6 libgomp1

# wheels FOLDER: install the pinned wheels that stdin names into a folder of the tree. The runtimes' own dependencies serve tools
# around them; computing needs numpy alone.
wheels() {
    cat >"$work/requirements.txt"
    "${pip[@]}" install --quiet --no-deps --require-hashes --target "$tree/$1" --only-binary=:all: --no-compile \
        --implementation cp --python-version 3.11 --abi cp311 --platform manylinux_2_17_aarch64 \
        --platform manylinux_2_27_aarch64 --platform manylinux_2_28_aarch64 \
        -r "$work/requirements.txt" || fail "the wheels could not be fetched, or are not the expected ones"
    sed 's/ .*//; s/==/ /' "$work/requirements.txt" >>"$work/versions.txt"
}

echo "fetching numpy, LiteRT and ONNX Runtime for aarch64" >&2
wheels site <<'PINS'
numpy==2.4.6 --hash=sha256:0ab0a9c4ffb1a6d95ef519fe4247dba8eb6b18ad93999f76b7f657039acabd47
ai-edge-litert==2.3.0 --hash=sha256:853fc608f96da87bd5f3458465dfb9abbf18d5ae6b94eceacead407146f175ae
onnxruntime==1.31.1 --hash=sha256:da05378364c44d4407e463982d2bf8d5e4cfea873283757e48beeb41df97b7f3
PINS
# The release line of the Android app (android_demo/gradle/libs.versions.toml), before the newer one where LITERT=1.4.0 is set.
wheels litert-1.4.0 <<'PINS'
ai-edge-litert==1.4.0 --hash=sha256:131d1c12dedc0c45aa683106d71ea895117c2332b0efb52712965f8b5e63781d
PINS

gcc -O2 -shared -fPIC -o "$tree/icount.so" "$here/icount.c" || fail "icount.c could not be compiled"

# cpu NAME PART VARIANT FEATURES [OPTIONS]: a view of the root file system with the CPU's /proc/cpuinfo, and QEMU's name for it.
cpu() {
    mkdir -p "$tree/cpus/$1/proc"
    echo "$1${5:-}" >"$tree/cpus/$1/model"
    for folder in etc lib usr; do
        ln -s "../../sysroot/$folder" "$tree/cpus/$1/$folder"
    done
    printf 'processor\t: 0\nBogoMIPS\t: 100.00\nFeatures\t: %s\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: %s\nCPU part\t: %s\nCPU revision\t: 0\n\n' \
        "$4" "$3" "$2" >"$tree/cpus/$1/proc/cpuinfo"
}

# dotprod (asimddp) came with ARMv8.2: the A72 is without.
newer="fp asimd aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp"
cpu neoverse-n1 0xd0c 0x4 "$newer"
cpu cortex-a76 0xd0b 0x4 "$newer"
cpu cortex-a72 0xd08 0x0 "fp asimd aes pmull sha1 sha2 crc32 cpuid"
# QEMU's max has no part number of its own, and LiteRT crashes on an unknown one: it gets that of Neoverse V1, which has i8mm.
cpu max 0xd40 0x0 "$newer i8mm" ,sve=off,sme=off

# QEMU runs by the libraries it came with, so that the age of the machine's own does not matter.
cat >"$tree/python-arm64" <<'WRAPPER'
#!/bin/sh
# usage: python-arm64 CPU ARGUMENTS OF PYTHON...     with ICOUNT_FILE=FILE, instruction counts at marks are appended to FILE;
# with LITERT=1.4.0 LiteRT is of that version
here=$(cd "$(dirname "$0")" && pwd)
cpu=$1
shift
export PYTHONPATH="${LITERT:+$here/litert-$LITERT:}$here/site" PYTHONNOUSERSITE=1 PYTHONDONTWRITEBYTECODE=1
unset PYTHONHOME
exec "$here/qemu/lib64/ld-linux-x86-64.so.2" \
    --library-path "$here/qemu/lib/x86_64-linux-gnu:$here/qemu/usr/lib/x86_64-linux-gnu" "$here/qemu/usr/bin/qemu-aarch64" \
    -cpu "$(cat "$here/cpus/$cpu/model")" -L "$here/cpus/$cpu" ${ICOUNT_FILE:+-plugin "$here/icount.so"} "$here/sysroot/usr/bin/python3.11" "$@"
WRAPPER
chmod +x "$tree/python-arm64"

for name in neoverse-n1 cortex-a72; do
    app='import ai_edge_litert.interpreter, importlib.metadata; assert importlib.metadata.version("ai-edge-litert") == "1.4.0"'
    LITERT=1.4.0 "$tree/python-arm64" $name -c "$app" 2>"$work/said" || fail "LiteRT 1.4.0 does not run on $name ($(tail -n 1 "$work/said"))"
    ICOUNT_FILE="$work/marks" "$tree/python-arm64" $name -c 'import numpy, onnxruntime, ai_edge_litert.interpreter, os; os.getppid()' \
        2>"$work/said" && [ -s "$work/marks" ] || fail "the ARM64 Python does not run on $name ($(tail -n 1 "$work/said"))"
done
sed -i '1s/^qemu-user /QEMU /' "$work/versions.txt"
mv "$work/versions.txt" "$tree/"
mv "$tree" "$dest"
cat "$dest/versions.txt" >&2
