#!/usr/bin/env bash
# Compile core and app for Java 8 and run their JUnit tests on this machine's JVM, with Debian's tools instead of Gradle.
#
#     android_demo/tools/test_java.sh
#
# Classes go to android_demo/build/core (main, tools, test); those of the app's tests go to build/app-test.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
    echo "error: $1" >&2
    exit 1
}

build=build/core
junit=/usr/share/java/junit4.jar:/usr/share/java/hamcrest-core.jar
jna=/usr/share/java/jna.jar
command -v javac >/dev/null && [ -r ${junit%:*} ] && [ -r ${junit#*:} ] && [ -r $jna ] ||
    fail "javac, JUnit or JNA not found; install Debian's openjdk-17-jdk-headless junit4 libjna-java"

# compile FOLDER CLASSPATH: compile src/FOLDER/java to build/core/FOLDER.
compile() {
    mkdir -p $build/"$1"
    # -options: newer javac versions only warn that release 8 is old.
    javac --release 8 -encoding UTF-8 -Xlint:all,-options -Werror -classpath "$2" -d $build/"$1" \
        $(find core/src/"$1"/java -name '*.java') || fail "core/src/$1 does not compile"
}

rm -rf $build
compile main ""
compile tools $build/main
compile test $build/main:$junit
# run_tests FOLDER CLASSPATH: run all test classes of a folder.
# 64 MB is less than any phone gives an app. The core must stay within it for hostile files and long texts. Of Java's collectors,
# the serial one needs no free space beside a large array, on any machine.
run_tests() {
    local tests
    tests=$(cd "$1" && find . -name '*Test.class' | sed 's,^\./,,; s,\.class$,,; y,/,.,' | sort)
    [ -n "$tests" ] || fail "no class in $1 ends in Test"
    java -Xmx64m -XX:+UseSerialGC -Dpocketqa.root="$(cd .. && pwd)" -ea -classpath "$1:$2" org.junit.runner.JUnitCore $tests
}

run_tests $build/test $build/main:$junit

# The app's tests need neither Android nor LiteRT: app/src/fakes replaces them. Only the classes that the tests use are compiled;
# tools/build_apk.sh compiles all. There aapt makes R; here the strings are enough.
app=build/app-test
rm -rf $app
mkdir -p $app/gen/org/pocketqa/app $app/test
{
    echo "package org.pocketqa.app; public final class R {"
    echo "public static final class string {"
    sed -nE 's/.*<string name="(\w+)".*/\1/p' app/src/main/res/values/strings.xml |
        awk '{ print "public static final int " $1 " = " NR ";" }'
    echo "}"
    echo "}"
} >$app/gen/org/pocketqa/app/R.java
# compile_app FOLDER CLASSPATH SOURCE...: compile the sources and the app classes they use to build/app-test/FOLDER.
compile_app() {
    mkdir -p "$app/$1"
    javac --release 8 -encoding UTF-8 -Xlint:all,-options -Werror -classpath "$build/main:$2" \
        -sourcepath app/src/main/java:stubs/java:$app/gen -d "$app/$1" $(find app/src/fakes "${@:3}" -name '*.java') ||
        fail "${*:3} does not compile"
}

compile_app test $build/test:$junit app/src/fake_litert app/src/test
run_tests $app/test $build/main:$build/test:$junit
# The same classes with the real LiteRT, for tests/export/android/test_litert.py.
compile_app litert $build/tools:$jna app/src/real_litert
