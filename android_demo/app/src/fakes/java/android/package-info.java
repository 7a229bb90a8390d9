/**
 * Fakes for the few classes of Android's framework, and of LiteRT, that the app's state uses. The screens have no fakes.
 *
 * The tests in src/test run on a desktop JVM without an emulator. They check what the app does, in which order, on which thread,
 * and after which fault. They do not check layouts and screens, Android's own faults and timing, real providers of other apps, or
 * LiteRT itself (see src/real_litert). The test's thread is the main thread. Handler keeps posted tasks until the test runs them.
 */
package android;
