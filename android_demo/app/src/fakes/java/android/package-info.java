/**
 * Stand-ins for the few classes of Android's framework, and of LiteRT, that the app's state uses; its screens are not among them.
 *
 * The tests in src/test run on a desktop's JVM, with no emulator: with these they show what the app does in which order, on which
 * thread, and after which fault. What they do not show: layouts and screens, Android's own faults and timing, what another app's
 * provider really does, and that LiteRT computes anything, which src/real_litert is for. A test's thread is the main thread, and
 * Handler keeps what is posted to it until the test runs it.
 */
package android;
