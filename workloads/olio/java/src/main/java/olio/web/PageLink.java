package olio.web;

import java.util.ArrayList;
import java.util.List;

/** A link to a page of a list. */
public record PageLink(String label, String href, boolean current) {
    /** Events of a page. */
    public static final int PAGE = 10;
    private static final int MOST_LINKS = 10;
    private static final int MOST_PAGE = 1_000;

    /** The page that a query asks for, from 1. */
    public static int number(String text) {
        int number = text.matches("\\d{1,4}") ? Integer.parseInt(text) : 1;
        return number >= 1 && number <= MOST_PAGE ? number : 1;
    }

    /** Links to the first ten pages, and to those before and after this one. {@code base} ends where {@code page=} follows. */
    public static List<PageLink> to(String base, int page, long events) {
        long pages = (events + PAGE - 1) / PAGE;
        List<PageLink> links = new ArrayList<>();
        if (page > 1) {
            links.add(link(base, "Previous", page - 1, false));
        }
        for (int number = 1; number <= Math.min(pages, MOST_LINKS); number++) {
            links.add(link(base, String.valueOf(number), number, number == page));
        }
        if (page < pages) {
            links.add(link(base, "Next", page + 1, false));
        }
        return links;
    }

    private static PageLink link(String base, String label, int page, boolean current) {
        return new PageLink(label, base + "page=" + page, current);
    }
}
