package olio.web;

/** An event as a list shows it. */
public record EventLine(Integer id, String title, String summary, String starts, String thumb) {
    /** The beginning of a query for events that are named {@code e}. */
    public static final String SELECT = "select e.id, e.title, e.summary, format(e.startsAt as 'yyyy-MM-dd HH:mm'), e.thumb";
}
