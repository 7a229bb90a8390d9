/**
 * Stubs of the part of LiteRT 1.4.2's Java API that the app uses. They compile the app where the real library is not available.
 *
 * <p>Signatures equal those of the published classes ({@code stubs/litert-1.4-api.txt}, compared by {@code tools/check_stubs.py}).
 * No method computes anything, and no stub is packaged into an APK.
 */
package org.tensorflow.lite;
