package olio.routes;

import static olio.web.PageLink.PAGE;

import jakarta.servlet.ServletException;
import jakarta.servlet.annotation.WebServlet;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import olio.model.Tag;
import olio.web.Checks;
import olio.web.EventLine;
import olio.web.Exchange;
import olio.web.PageLink;
import olio.web.Problem;
import olio.web.SiteServlet;

/** Events that have a tag. */
@WebServlet({"/tags", "/tags/*"})
public class TagServlet extends SiteServlet {
    @Override
    protected void get(Exchange exchange) throws ServletException, IOException {
        if (!exchange.path().matches("/[^/]+")) {
            throw Problem.notFound();
        }
        list(exchange, exchange.path().substring(1), PageLink.number(exchange.field("page")));
    }

    /** A search changes nothing, so it has no token. */
    @Override
    protected void post(Exchange exchange) throws ServletException, IOException {
        if (!exchange.path().isEmpty()) {
            throw Problem.notFound();
        }
        list(exchange, exchange.field("tag").toLowerCase(Locale.ROOT), 1);
    }

    /** A word that can be no tag is one that no event has. */
    private static void list(Exchange exchange, String name, int page) throws ServletException, IOException {
        Tag tag = null;
        if (Checks.isTag(name)) {
            tag = exchange.entities().createQuery("from Tag t where t.name = :name", Tag.class).setParameter("name", name)
                .getResultStream().findFirst().orElse(null);
        }
        long refcount = tag == null ? 0 : tag.refcount;
        exchange.put("tag", name);
        exchange.put("refcount", refcount);
        exchange.put("events", refcount == 0 ? List.of() : events(exchange, tag, page));
        exchange.put("pages", PageLink.to("/tags/" + name + "?", page, refcount));
        exchange.show("tag");
    }

    private static List<EventLine> events(Exchange exchange, Tag tag, int page) {
        String events = EventLine.SELECT + " from EventTag t join t.event e where t.tag = :tag order by e.startsAt, e.id";
        return exchange.entities().createQuery(events, EventLine.class).setParameter("tag", tag)
            .setFirstResult((page - 1) * PAGE).setMaxResults(PAGE).getResultList();
    }
}
