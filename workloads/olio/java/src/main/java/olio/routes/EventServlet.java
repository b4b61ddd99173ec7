package olio.routes;

import jakarta.persistence.EntityManager;
import jakarta.persistence.LockModeType;
import jakarta.servlet.ServletException;
import jakarta.servlet.annotation.MultipartConfig;
import jakarta.servlet.annotation.WebServlet;
import java.io.IOException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import olio.model.Event;
import olio.model.Person;
import olio.web.Exchange;
import olio.web.Form;
import olio.web.Problem;
import olio.web.SiteServlet;
import olio.web.Visitor;

/** An event's page, and what changes an event. */
@WebServlet({"/events", "/events/*"})
@MultipartConfig(fileSizeThreshold = EventServlet.MOST_BYTES, maxFileSize = EventServlet.MOST_BYTES)
public class EventServlet extends SiteServlet {
    /** The most that a form may have, as the web server has it. */
    static final int MOST_BYTES = 8 << 20;
    private static final Pattern CHANGE = Pattern.compile("/(\\d{1,9})/([a-z]+)");

    /** An event with its place and its submitter. */
    public record Shown(Integer id, String title, String summary, String description, Integer submitterId, String submitter,
                        String telephone, String timezone, String starts, String image, String thumb, String literature,
                        String street1, String street2, String city, String state, String zip, String country,
                        String latitude, String longitude) {
        static final String SELECT = "select e.id, e.title, e.summary, e.description, p.id, p.username, e.telephone, e.timezone,"
            + " format(e.startsAt as 'yyyy-MM-dd HH:mm'), e.image, e.thumb, e.literature, a.street1, a.street2, a.city, a.state,"
            + " a.zip, a.country, cast(a.latitude as string), cast(a.longitude as string)"
            + " from Event e join e.address a join e.submitter p where e.id = :event";
    }

    /** What somebody has said about it. */
    public record Said(String author, String body, Integer rating, String written) {
        static final String SELECT = "select p.username, c.body, c.rating, format(c.createdAt as 'yyyy-MM-dd HH:mm')"
            + " from Comment c join c.person p where c.event.id = :event order by c.id";
    }

    @Override
    protected void get(Exchange exchange) throws ServletException, IOException {
        if (exchange.path().equals("/new")) {
            exchange.show("event_form");
        } else if (exchange.path().matches("/\\d{1,9}")) {
            show(exchange, Integer.parseInt(exchange.path().substring(1)));
        } else {
            throw Problem.notFound();
        }
    }

    private static void show(Exchange exchange, int event) throws ServletException, IOException {
        EntityManager entities = exchange.entities();
        Shown shown = entities.createQuery(Shown.SELECT, Shown.class).setParameter("event", event)
            .getResultStream().findFirst().orElseThrow(Problem::notFound);
        String tags = "select t.name from EventTag et join et.tag t where et.event.id = :event order by t.name";
        exchange.put("event", shown);
        exchange.put("tags", entities.createQuery(tags, String.class).setParameter("event", event).getResultList());
        exchange.put("attendees", Attendees.of(entities, event, exchange.visitorId()));
        exchange.put("comments", entities.createQuery(Said.SELECT, Said.class).setParameter("event", event).getResultList());
        exchange.show("event");
    }

    @Override
    protected void post(Exchange exchange) throws ServletException, IOException {
        if (exchange.path().isEmpty()) {
            add(exchange);
            return;
        }
        Matcher change = CHANGE.matcher(exchange.path());
        if (!change.matches()) {
            throw Problem.notFound();
        }
        int event = Integer.parseInt(change.group(1));
        switch (change.group(2)) {
            case "attend" -> changeAttendance(exchange, event, EventServlet::attend);
            case "unattend" -> changeAttendance(exchange, event, EventServlet::unattend);
            case "comments" -> comment(exchange, event);
            case "rating" -> rate(exchange, event);
            case "delete" -> delete(exchange, event);
            default -> throw Problem.notFound();
        }
    }

    private static void add(Exchange exchange) throws ServletException, IOException {
        Form form = exchange.form();
        Visitor visitor = exchange.changingVisitor(form.get("token"));
        NewEvent event = new NewEvent(form, exchange.site());
        if (event.holds()) {
            exchange.redirect("/events/" + event.add(visitor.id()));
        } else {
            exchange.put("form", form.fields());
            exchange.put("errors", event.errors());
            exchange.show("event_form", 422);
        }
    }

    /** The change, and what there is after it, in one transaction. */
    private static void changeAttendance(Exchange exchange, int event, Change change) throws ServletException, IOException {
        Visitor visitor = exchange.changingVisitor();
        exchange.put("attendees", exchange.site().database().inTransaction(entities -> {
            change.make(entities, visitor.id(), event);
            return Attendees.of(entities, event, visitor.id());
        }));
        exchange.showPart("attendees");
    }

    private interface Change {
        void make(EntityManager entities, int visitor, int event);
    }

    private static void attend(EntityManager entities, int visitor, int event) {
        entities.createNativeQuery("insert ignore into attendance (person_id, event_id) select ?, id from event where id = ?")
            .setParameter(1, visitor).setParameter(2, event).executeUpdate();
    }

    private static void unattend(EntityManager entities, int visitor, int event) {
        entities.createQuery("delete Attendance a where a.person.id = :visitor and a.event.id = :event")
            .setParameter("visitor", visitor).setParameter("event", event).executeUpdate();
    }

    private static void comment(Exchange exchange, int event) {
        Visitor visitor = exchange.changingVisitor();
        String body = exchange.field("comment");
        int length = body.codePointCount(0, body.length());
        if (length < 1 || length > 2_500) {
            throw Problem.badRequest();
        }
        int added = exchange.site().database().inTransaction(entities -> entities
            .createNativeQuery("insert into comment (person_id, event_id, body, rating, created_at)"
                + " select ?, id, ?, ?, ? from event where id = ?")
            .setParameter(1, visitor.id()).setParameter(2, body).setParameter(3, visitor.rating())
            .setParameter(4, exchange.site().now()).setParameter(5, event).executeUpdate());
        if (added == 0) {
            throw Problem.notFound();
        }
        exchange.redirect("/events/" + event);
    }

    /** The rating stays in the session until the visitor comments. */
    private static void rate(Exchange exchange, int event) {
        Visitor visitor = exchange.changingVisitor();
        if (!exchange.field("rating").matches("[1-5]")) {
            throw Problem.badRequest();
        }
        exchange.keep(visitor.withRating(Integer.parseInt(exchange.field("rating"))));
        exchange.redirect("/events/" + event);
    }

    private static void delete(Exchange exchange, int event) {
        Visitor visitor = exchange.changingVisitor();
        exchange.site().database().inTransaction(entities -> {
            Event found = entities.find(Event.class, event, LockModeType.PESSIMISTIC_WRITE);
            if (found == null) {
                throw Problem.notFound();
            }
            if (found.submitter != entities.getReference(Person.class, visitor.id())) {
                throw Problem.forbidden();
            }
            deleteWithAll(entities, found);
            return null;
        });
        exchange.redirect("/");
    }

    /** The event with all that belongs to it. */
    private static void deleteWithAll(EntityManager entities, Event event) {
        String count = "update Tag t set t.refcount = t.refcount - 1"
            + " where t.id in (select et.tag.id from EventTag et where et.event = :event)";
        entities.createQuery(count).setParameter("event", event).executeUpdate();
        for (String entity : new String[] {"EventTag", "Attendance", "Comment"}) {
            entities.createQuery("delete " + entity + " x where x.event = :event").setParameter("event", event).executeUpdate();
        }
        entities.createQuery("delete Event e where e = :event").setParameter("event", event).executeUpdate();
        entities.createQuery("delete Address a where a = :address").setParameter("address", event.address).executeUpdate();
    }
}
