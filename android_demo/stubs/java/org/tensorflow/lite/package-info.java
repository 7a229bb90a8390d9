/**
 * Stand-ins for the part of LiteRT 1.4.2's Java API that the app uses, to compile it where the real library cannot be fetched.
 *
 * <p>Signatures are those of the published classes ({@code stubs/litert-1.4-api.txt}, compared by {@code tools/check_stubs.py});
 * no method computes anything, and no stub is packaged into an APK.
 */
package org.tensorflow.lite;
