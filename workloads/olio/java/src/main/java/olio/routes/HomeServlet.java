package olio.routes;

import static olio.web.PageLink.PAGE;

import jakarta.persistence.TypedQuery;
import jakarta.servlet.ServletException;
import jakarta.servlet.annotation.WebServlet;
import java.io.IOException;
import java.time.LocalDate;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import olio.model.Tag;
import olio.web.Cache;
import olio.web.Checks;
import olio.web.EventLine;
import olio.web.Exchange;
import olio.web.PageLink;
import olio.web.SiteServlet;

/**
 * The next events and the cloud of tags. Without parameters they come from the cache, where one request in 300 s makes them anew while
 * the others send the old ones.
 */
@WebServlet("")
public class HomeServlet extends SiteServlet {
    /** The page as anonymous visitors see it, and the part of it that is the same for those who are logged in. */
    private static final String WHOLE = "home:anonymous";
    private static final String CONTENT = "home:content";
    /** While this key is there, the pages are fresh. */
    private static final String FRESH = "home:fresh";
    private static final int FRESH_S = 300;
    /** Who adds this key makes the pages. */
    private static final String LOCK = "home:lock";
    private static final int LOCK_S = 5;
    /** Tags of the cloud. */
    private static final int CLOUD = 50;

    /** A tag with a size from 1 to 5 by the number of events. */
    public record CloudTag(String name, long size) {
    }

    /** What the list is restricted to. A parameter that is malformed is not there. */
    public record Filter(String zip, String date, boolean byCreation, int page) {
        static final Filter NONE = new Filter("", "", false, 1);

        static Filter of(Exchange exchange) {
            String zip = exchange.field("zip");
            String date = exchange.field("date");
            return new Filter(
                Checks.isZip(zip) ? zip : "",
                Checks.isDay(date) ? date : "",
                exchange.field("order").equals("created"),
                PageLink.number(exchange.field("page")));
        }

        /** The events of all pages, as a part of a query. */
        String condition() {
            return " from Event e" + (zip.isEmpty() ? "" : " join e.address a on a.zip = :zip")
                + (date.isEmpty() ? " where e.startsAt >= :begin" : " where e.startsAt between :begin and :end");
        }

        /** The address of this list, without its page. */
        String base() {
            return "/?" + (zip.isEmpty() ? "" : "zip=" + zip + "&") + (byCreation ? "order=created&" : "")
                + (date.isEmpty() ? "" : "date=" + date + "&");
        }
    }

    @Override
    protected void get(Exchange exchange) throws ServletException, IOException {
        Filter filter = Filter.of(exchange);
        boolean isPlain = filter.equals(Filter.NONE);
        if (exchange.visitor() == null) {
            exchange.send(isPlain ? cached(exchange, WHOLE) : whole(exchange, content(exchange, filter)), 200);
        } else {
            exchange.put("content", isPlain ? cached(exchange, CONTENT) : content(exchange, filter));
            exchange.show("home");
        }
    }

    /** Fresh, or old while another request makes it, or made here. */
    private String cached(Exchange exchange, String key) throws ServletException, IOException {
        Cache cache = exchange.site().cache();
        Map<String, String> values = cache.get(List.of(key, FRESH));
        String old = values.get(key);
        if (old != null && values.containsKey(FRESH)) {
            return old;
        }
        boolean isMaker = cache.add(LOCK, LOCK_S);
        if (old != null && !isMaker) {
            return old;
        }
        String content = content(exchange, Filter.NONE);
        String whole = whole(exchange, content);
        if (isMaker) {
            cache.set(WHOLE, whole, 0);
            cache.set(CONTENT, content, 0);
            cache.set(FRESH, "1", FRESH_S);
            cache.delete(LOCK);
        }
        return key.equals(WHOLE) ? whole : content;
    }

    private static String whole(Exchange exchange, String content) throws ServletException, IOException {
        exchange.put("content", content);
        return exchange.render("home");
    }

    /** Three statements: the events, their number, the tags. */
    private static String content(Exchange exchange, Filter filter) throws ServletException, IOException {
        String order = filter.byCreation() ? " order by e.createdAt desc, e.id desc" : " order by e.startsAt, e.id";
        TypedQuery<EventLine> events =
            exchange.entities().createQuery(EventLine.SELECT + filter.condition() + order, EventLine.class);
        TypedQuery<Long> number = exchange.entities().createQuery("select count(*)" + filter.condition(), Long.class);
        bind(events, filter, exchange);
        bind(number, filter, exchange);
        events.setFirstResult((filter.page() - 1) * PAGE).setMaxResults(PAGE);
        exchange.put("filter", filter);
        exchange.put("events", events.getResultList());
        exchange.put("pages", PageLink.to(filter.base(), filter.page(), number.getSingleResult()));
        exchange.put("cloud", cloud(exchange));
        return exchange.render("home_content");
    }

    private static void bind(TypedQuery<?> query, Filter filter, Exchange exchange) {
        if (filter.date().isEmpty()) {
            query.setParameter("begin", exchange.site().now());
        } else {
            LocalDate day = LocalDate.parse(filter.date());
            query.setParameter("begin", day.atStartOfDay()).setParameter("end", day.atTime(LocalTime.of(23, 59, 59)));
        }
        if (!filter.zip().isEmpty()) {
            query.setParameter("zip", filter.zip());
        }
    }

    private static List<CloudTag> cloud(Exchange exchange) {
        List<Tag> tags = exchange.entities().createQuery("from Tag t order by t.refcount desc, t.name", Tag.class)
            .setMaxResults(CLOUD).getResultList();
        List<CloudTag> cloud = new ArrayList<>();
        for (Tag tag : tags) {
            long most = tags.get(0).refcount;
            long least = tags.get(tags.size() - 1).refcount;
            cloud.add(new CloudTag(tag.name, 1 + (most > least ? 4 * (tag.refcount - least) / (most - least) : 0)));
        }
        cloud.sort(Comparator.comparing(CloudTag::name));
        return cloud;
    }
}
