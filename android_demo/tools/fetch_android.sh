#!/usr/bin/env bash
# Fetch Android's class library (API 23) from Debian: enough to compile the app without Google's SDK.
#
#     android_demo/tools/fetch_android.sh DEST      makes DEST/android.jar, unless it exists
#
# Debian 11 (bullseye) is the last release with the package. apt uses a separate state, so the machine's does not change. apt
# checks Debian's signature; this script checks every SHA-256.
set -euo pipefail

fail() {
    echo "error: $1" >&2
    exit 1
}

[ $# -eq 1 ] || fail "usage: fetch_android.sh DEST"
mkdir -p "$1"
dest=$(cd "$1" && pwd)
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

jars_are_right() {
    (cd "$1" && sha256sum --check --status 2>/dev/null) <<'SUMS'
4475aa3fe1fc28bdb87ae6351d6ccff58f344a1b9e2fe685f7a6fee41ba68613  android.jar
SUMS
}

jars_are_right "$dest" && exit 0

for tool in apt-get dpkg-deb; do
    command -v $tool >/dev/null || fail "$tool not found; Debian's apt is needed to fetch android.jar into $dest"
done
[ -r $keyring ] || fail "$keyring not found; install Debian's package debian-archive-keyring"
# Every mirror of this machine's Debian also has bullseye.
mirror=$(apt-get indextargets --format '$(REPO_URI)' | grep -E '/debian/?$' | sort -u | head -n 1) ||
    fail "apt knows no Debian mirror on this machine (apt-get indextargets); Debian's apt is needed"

work=$(mktemp -d "$dest/.fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{state/lists/partial,cache/archives/partial,etc/apt.conf.d,etc/preferences.d,etc/sources.list.d,debs,files}
: >"$work/state/status"
echo "deb [signed-by=$keyring] $mirror bullseye main" >"$work/etc/sources.list"
# The package is for all architectures; amd64 is given so that the fetched list is always the same.
cat >"$work/apt.conf" <<CONF
APT::Architecture "amd64";
APT::Architectures { "amd64"; };
APT::Sandbox::User "root";
APT::Update::Error-Mode "any";
Acquire::Languages "none";
Acquire::Retries "2";
Dir::State "$work/state";
Dir::State::status "$work/state/status";
Dir::Cache "$work/cache";
Dir::Etc "$work/etc";
CONF
export APT_CONFIG="$work/apt.conf"

echo "fetching android.jar from $mirror (Debian bullseye)" >&2
apt-get -qq update || fail "no package list from $mirror; is there a network, and has the mirror still bullseye?"
(cd "$work/debs" && apt-get -qq download libandroid-23-java=6.0.1+r72-6) ||
    fail "libandroid-23-java could not be downloaded from $mirror"
(cd "$work/debs" && sha256sum --check --quiet) <<'SUMS' || fail "the package from $mirror is not the expected one; no jar was made"
8af1b6df556971dda0a6da3536ea526a838e0c363afcdd454213d8bce94793e3  libandroid-23-java_6.0.1+r72-6_all.deb
SUMS
for deb in "$work"/debs/*.deb; do
    dpkg-deb --extract "$deb" "$work/files"
done
cp "$work/files/usr/share/java/com.android.android-23.jar" "$work/android.jar"
jars_are_right "$work" || fail "the package does not hold the expected jar; no jar was made"
mv "$work/android.jar" "$dest/"
