#!/usr/bin/env bash
# Build and check the app without Gradle and Google's SDK, with Debian's tools (fetch_android.sh, aapt, apksigner).
#
#     android_demo/tools/build_apk.sh
#
# The APK is not for phones: it has no code. The script checks that app and core compile against Android's API 23 and stubs of
# LiteRT, and that resources, manifest and assets can be packaged. All output is in android_demo/build.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
    echo "error: $1" >&2
    exit 1
}

build=build/apk
jars=build/jars
apk=build/pocketqa-without-code.apk
# Resources of Android 10: the newest in Debian, newer than those in android.jar.
framework=/usr/share/android-framework-res/framework-res.apk
rm -rf $build $apk
mkdir -p $build/{gen,stubs,invoke,classes}

for tool in javac java keytool aapt zipalign apksigner python3; do
    command -v $tool >/dev/null ||
        fail "$tool not found; install Debian's openjdk-17-jdk-headless aapt zipalign apksigner android-framework-res python3"
done
[ -r $framework ] || fail "$framework not found; install Debian's android-framework-res"
[ -r $jars/android.jar ] || fail "android_demo/$jars/android.jar not found; run tools/fetch_android.sh $jars in android_demo"

# gradle_value NAME: print the value of NAME in app/build.gradle, the only place for these values.
gradle_value() {
    local value
    value=$(sed -nE "s/^ *$1 = '?([^' ]+)'?.*/\1/p" app/build.gradle)
    [ -n "$value" ] || fail "app/build.gradle has no line '$1 = ...'"
    echo "$value"
}
package=$(gradle_value namespace)
min_sdk=$(gradle_value minSdk)
target_sdk=$(gradle_value targetSdk)
version_code=$(gradle_value versionCode)
version_name=$(gradle_value versionName)

# Gradle sets the package of the manifest; aapt needs it in the file. The framework above lacks one attribute of Android 12.
sed "/android:dataExtractionRules/d; 0,/<manifest/s//<manifest package=\"$package\"/" app/src/main/AndroidManifest.xml >$build/AndroidManifest.xml
aapt package -f -m -J $build/gen -M $build/AndroidManifest.xml -S app/src/main/res -A app/src/main/assets \
    -I $framework -F $build/unaligned.apk \
    --min-sdk-version "$min_sdk" --target-sdk-version "$target_sdk" --version-code "$version_code" --version-name "$version_name"

# With -bootclasspath, unlike --release 8, java.* is also Android's, so JDK methods that API 23 lacks do not compile.
javac --release 8 -Xlint:-options -d $build/stubs $(find stubs -name '*.java')
javac -source 8 -target 8 -Xlint:-options -bootclasspath $jars/android.jar -d $build/invoke $(find stubs/invoke -name '*.java')
javac -source 8 -target 8 -encoding UTF-8 -Xlint:all,-options -Werror \
    -bootclasspath $jars/android.jar:$build/invoke -classpath $build/stubs -d $build/classes \
    $(find core/src/main/java app/src/main/java $build/gen -name '*.java') ||
    fail "app or core does not compile for API 23"
zipalign -p 4 $build/unaligned.apk $build/unsigned.apk

keystore=build/debug.keystore # created once, so that a new APK can replace an installed one
if [ ! -r $keystore ]; then
    keytool -genkeypair -keystore $build/new.keystore -storepass android -keypass android -alias debug -keyalg RSA -keysize 2048 \
        -validity 10000 -dname "CN=debug" >$build/keytool.txt 2>&1 || fail "no key was made; see android_demo/$build/keytool.txt"
    mv $build/new.keystore $keystore
fi
apksigner sign --ks $keystore --ks-pass pass:android --min-sdk-version "$min_sdk" --out $build/signed.apk $build/unsigned.apk

apksigner verify --min-sdk-version "$min_sdk" $build/signed.apk
zipalign -c -p 4 $build/signed.apk || fail "the APK is not aligned"
aapt dump badging $build/signed.apk >$build/badging.txt
! grep '^uses-permission' $build/badging.txt >&2 || fail "the app asks for a permission; it needs none"
for line in "package: name='$package' versionCode='$version_code' versionName='$version_name'" \
    "sdkVersion:'$min_sdk'" "targetSdkVersion:'$target_sdk'" "launchable-activity: name='$package."; do
    grep -qF "$line" $build/badging.txt || fail "aapt dump badging shows no line $line; see android_demo/$build/badging.txt"
done
aapt list $build/signed.apk >$build/files.txt
(cd app/src/main && find assets -type f) | while read -r asset; do
    grep -qxF "$asset" $build/files.txt || fail "$asset is not in the APK"
done
mv $build/signed.apk $apk

echo "android_demo/$apk: $(stat -c %s $apk) bytes, API $min_sdk to $target_sdk, no permissions"
echo "It has no code: this only checked compiling and packaging. Build with Gradle for a phone."
