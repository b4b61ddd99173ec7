package olio.web;

import java.time.DateTimeException;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SortedSet;

/** Collects what is wrong with a form. The words, and their order, are the site's. */
public final class Checks {
    private static final byte[] JPEG = {(byte) 0xFF, (byte) 0xD8, (byte) 0xFF};
    private static final byte[] PDF = {'%', 'P', 'D', 'F'};

    private final Form form;
    private final List<String> errors = new ArrayList<>();

    private Checks(Form form) {
        this.form = form;
    }

    public static List<String> ofEvent(Form form) {
        Checks checks = new Checks(form);
        checks.length("title", 1, 100);
        checks.length("summary", 1, 100);
        checks.length("description", 1, 500);
        checks.require(isDay(form.get("date")), "date: a day");
        checks.pattern("hour", "[01]?[0-9]|2[0-3]", "0 to 23");
        checks.pattern("minute", "[0-5]?[0-9]", "0 to 59");
        checks.length("timezone", 1, 25);
        checks.telephone();
        checks.address();
        SortedSet<String> tags = form.tags();
        boolean isTags = !tags.isEmpty() && tags.size() <= 7 && tags.stream().allMatch(Checks::isTag);
        checks.require(isTags, "tags: 1 to 7 words of letters, digits and hyphens");
        checks.image();
        byte[] literature = form.file("literature");
        checks.require(literature.length == 0 || begins(literature, PDF), "literature: a PDF file");
        return checks.errors;
    }

    public static List<String> ofPerson(Form form) {
        Checks checks = new Checks(form);
        checks.pattern("username", "[A-Za-z0-9]{6,25}", "6 to 25 letters and digits");
        checks.length("password", 1, 72);
        checks.require(form.get("password").equals(form.get("password2")), "password2: the same password again");
        checks.length("first_name", 1, 25);
        checks.length("last_name", 1, 25);
        checks.length("email", 3, 90);
        checks.require(form.get("email").contains("@"), "email: an address with @");
        checks.telephone();
        checks.length("timezone", 1, 25);
        checks.length("summary", 1, 2_500);
        checks.address();
        checks.image();
        return checks.errors;
    }

    /** Small letters, digits and hyphens, 30 at most. */
    public static boolean isTag(String text) {
        return text.matches("[a-z0-9-]{1,30}");
    }

    public static boolean isZip(String text) {
        return text.matches("[0-9]{5}");
    }

    /** A day of the calendar as {@code YYYY-MM-DD}, from the year 1000 on. */
    public static boolean isDay(String text) {
        if (!text.matches("[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}")) {
            return false;
        }
        try {
            LocalDate.parse(text);
            return true;
        } catch (DateTimeException notOfTheCalendar) {
            return false;
        }
    }

    private void require(boolean holds, String error) {
        if (!holds) {
            errors.add(error);
        }
    }

    /** So many characters. */
    private void length(String name, int least, int most) {
        int length = form.get(name).codePointCount(0, form.get(name).length());
        require(length >= least && length <= most, name + ": " + least + " to " + most + " characters");
    }

    private void pattern(String name, String pattern, String words) {
        require(form.get(name).matches(pattern), name + ": " + words);
    }

    private void telephone() {
        pattern("telephone", "[0-9 +-]{7,20}", "7 to 20 digits");
    }

    private void address() {
        length("street1", 1, 55);
        length("street2", 0, 55);
        length("city", 1, 55);
        length("state", 1, 25);
        require(isZip(form.get("zip")), "zip: five digits");
        length("country", 1, 55);
    }

    private void image() {
        require(begins(form.file("image"), JPEG), Uploads.NO_IMAGE);
    }

    private static boolean begins(byte[] file, byte[] start) {
        return file.length >= start.length && Arrays.equals(file, 0, start.length, start, 0, start.length);
    }
}
