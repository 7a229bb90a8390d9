#!/usr/bin/env bash
# Compile the core for Java 8 and run its JUnit tests on this machine's JVM, with what Debian has instead of Gradle.
#
#     android_demo/tools/test_core.sh
#
# Classes go to android_demo/build/core: main, tools (the desktop programs) and test.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
    echo "error: $1" >&2
    exit 1
}

build=build/core
junit=/usr/share/java/junit4.jar:/usr/share/java/hamcrest-core.jar
command -v javac >/dev/null && [ -r ${junit%:*} ] && [ -r ${junit#*:} ] ||
    fail "javac or JUnit not found; install Debian's openjdk-17-jdk-headless junit4"

# compile FOLDER CLASSPATH: src/FOLDER/java to build/core/FOLDER.
compile() {
    mkdir -p $build/"$1"
    # -options: newer javac only warn that release 8 is old.
    javac --release 8 -encoding UTF-8 -Xlint:all,-options -Werror -classpath "$2" -d $build/"$1" \
        $(find core/src/"$1"/java -name '*.java') || fail "core/src/$1 does not compile"
}

rm -rf $build
compile main ""
compile tools $build/main
compile test $build/main:$junit
if [ -r build/jars/android.jar ]; then # then Android's own class library is the stricter compiler
    mkdir -p $build/api23
    javac -source 8 -target 8 -encoding UTF-8 -Xlint:all,-options -Werror -bootclasspath build/jars/android.jar -d $build/api23 \
        $(find core/src/main/java -name '*.java') ||
        fail "core/src/main does not compile for Android's API 23 (a javac crash over java.lang.invoke is a lambda)"
fi

tests=$(cd $build/test && find . -name '*Test.class' | sed 's,^\./,,; s,\.class$,,; y,/,.,' | sort)
[ -n "$tests" ] || fail "no class in core/src/test ends in Test"
# 64 MB is less than any phone gives an app: what a hostile file or a book makes the core hold must fit.
java -Xmx64m -Dpocketqa.root="$(cd .. && pwd)" -ea -classpath $build/main:$build/test:$junit org.junit.runner.JUnitCore $tests
