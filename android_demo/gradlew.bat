@echo off
rem Run the Gradle version in gradle\wrapper\gradle-wrapper.properties: fetch it once, check its SHA-256, start it.
rem
rem     gradlew :app:assembleDebug
rem
rem It does what gradlew does, with the tools of Windows 10 and later.
setlocal
for /f "usebackq tokens=1,* delims==" %%a in ("%~dp0gradle\wrapper\gradle-wrapper.properties") do (
    if "%%a"=="distributionUrl" set "url=%%b"
    if "%%a"=="distributionSha256Sum" set "sha256=%%b"
)
rem The file format escapes the colon of a URL with a backslash.
set "url=%url:\=%"
set "name=%url:*/distributions/=%"
set "name=%name:-bin.zip=%"
set "folder=%USERPROFILE%\.gradle\pocketqa"
if defined GRADLE_USER_HOME set "folder=%GRADLE_USER_HOME%\pocketqa"
set "work=%folder%\fetch.%RANDOM%%RANDOM%"
set "tools=%SystemRoot%\System32"
set "problem=java not found; install a JDK 17"
where java >nul 2>nul || goto fail

if exist "%folder%\%name%\" goto run
set "problem=%work% could not be made"
mkdir "%work%" || goto fail
echo fetching %url% 1>&2
set "problem=%url% could not be fetched"
"%tools%\curl.exe" --fail --silent --show-error --location --output "%work%\gradle.zip" "%url%" || goto fail
set "problem=%url% does not have the SHA-256 recorded in the project"
"%tools%\certutil.exe" -hashfile "%work%\gradle.zip" SHA256 | "%tools%\findstr.exe" /i /x "%sha256%" >nul || goto fail
set "problem=%url% could not be unpacked"
"%tools%\tar.exe" -xf "%work%\gradle.zip" -C "%work%" || goto fail
rem Another build may have been faster.
if not exist "%folder%\%name%\" move "%work%\%name%" "%folder%" >nul 2>nul
if not exist "%folder%\%name%\" goto fail
rmdir /s /q "%work%"

:run
call "%folder%\%name%\bin\gradle.bat" --project-dir "%~dp0." %*
exit /b

:fail
if exist "%work%\" rmdir /s /q "%work%"
echo error: %problem% 1>&2
exit /b 1
