#!/usr/bin/env bash
# Build the core as a library with the JDK instead of Gradle: classes, sources and documentation, a jar each.
#
#     android_demo/tools/build_core.sh
#
# The jars go to android_demo/build/jars-of-core, named as `./gradlew :core:publishToMavenLocal` names them.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(sed -nE "s/^version = '(.+)'/\1/p" core/build.gradle)
[ -n "$version" ] || {
    echo "error: core/build.gradle has no line version = '...'" >&2
    exit 1
}
build=build/jars-of-core
rm -rf $build
mkdir -p $build/{classes,docs,legal/META-INF}
cp ../LICENSE ../NOTICE $build/legal/META-INF
sources=$(find core/src/main/java -name '*.java')
javac --release 8 -encoding UTF-8 -Xlint:all,-options -Werror -d $build/classes $sources
javadoc -quiet -encoding UTF-8 -Xdoclint:none -notimestamp -d $build/docs $sources
jar --create --file "$build/core-$version.jar" -C $build/classes . -C $build/legal .
jar --create --file "$build/core-$version-sources.jar" -C core/src/main/java . -C $build/legal .
jar --create --file "$build/core-$version-javadoc.jar" -C $build/docs . -C $build/legal .
rm -r $build/{classes,docs,legal}
ls -1 $build
