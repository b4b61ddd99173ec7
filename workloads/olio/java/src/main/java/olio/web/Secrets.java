package olio.web;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.util.HexFormat;

/** What nobody may guess: sessions, tokens, salts, passwords. */
public final class Secrets {
    private static final SecureRandom RANDOM = new SecureRandom();

    private Secrets() {
    }

    /** So many random bytes in hexadecimal. */
    public static String random(int bytes) {
        byte[] secret = new byte[bytes];
        RANDOM.nextBytes(secret);
        return HexFormat.of().formatHex(secret);
    }

    public static String hash(String salt, String password) {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            return HexFormat.of().formatHex(digest.digest((salt + password).getBytes(UTF_8)));
        } catch (NoSuchAlgorithmException failure) {
            throw new IllegalStateException("every Java has SHA-256", failure);
        }
    }

    /** Takes a time that does not depend on where the texts differ. */
    public static boolean equal(String left, String right) {
        return MessageDigest.isEqual(left.getBytes(UTF_8), right.getBytes(UTF_8));
    }
}
