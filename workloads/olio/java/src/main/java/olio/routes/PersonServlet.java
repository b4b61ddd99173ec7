package olio.routes;

import jakarta.persistence.EntityManager;
import jakarta.servlet.ServletException;
import jakarta.servlet.annotation.MultipartConfig;
import jakarta.servlet.annotation.WebServlet;
import java.io.IOException;
import java.util.List;
import olio.web.EventLine;
import olio.web.Exchange;
import olio.web.Form;
import olio.web.Problem;
import olio.web.SiteServlet;

/** A person's page, and registration. */
@WebServlet({"/persons", "/persons/*"})
@MultipartConfig(fileSizeThreshold = EventServlet.MOST_BYTES, maxFileSize = EventServlet.MOST_BYTES)
public class PersonServlet extends SiteServlet {
    private static final int MOST_FRIENDS = 6;
    private static final int MOST_REQUESTS = 50;
    private static final int MOST_EVENTS = 10;

    /** A person with the town. */
    public record Shown(Integer id, String username, String firstName, String lastName, String email, String telephone,
                        String timezone, String summary, String image, String thumb, String city, String state, String country) {
        static final String SELECT = "select p.id, p.username, p.firstName, p.lastName, p.email, p.telephone, p.timezone,"
            + " p.summary, p.image, p.thumb, a.city, a.state, a.country"
            + " from Person p join p.address a where p.username = :name";
    }

    /** A friend on a page. */
    public record Friend(String username, String thumb) {
        static final String SELECT = "select p.username, p.thumb from ("
            + " select f.recipient.id as id from Friendship f where f.sender.id = :person and f.accepted"
            + " union select f.sender.id as id from Friendship f where f.recipient.id = :person and f.accepted"
            + ") friend join Person p on p.id = friend.id order by p.id";
    }

    /** What the visitor is to the person. */
    public enum Relation { STRANGER, FRIEND, ASKED, ASKS }

    @Override
    protected void get(Exchange exchange) throws ServletException, IOException {
        if (exchange.path().equals("/new")) {
            exchange.show("person_form");
        } else if (exchange.path().matches("/[^/]+")) {
            show(exchange, exchange.path().substring(1));
        } else {
            throw Problem.notFound();
        }
    }

    private static void show(Exchange exchange, String name) throws ServletException, IOException {
        EntityManager entities = exchange.entities();
        Shown person = entities.createQuery(Shown.SELECT, Shown.class).setParameter("name", name)
            .getResultStream().findFirst().orElseThrow(Problem::notFound);
        exchange.put("person", person);
        exchange.put("friends", entities.createQuery(Friend.SELECT, Friend.class).setParameter("person", person.id())
            .setMaxResults(MOST_FRIENDS).getResultList());
        if (exchange.visitorId() == person.id()) {
            exchange.put("incoming", requests(entities, person.id(), "sender", "recipient"));
            exchange.put("outgoing", requests(entities, person.id(), "recipient", "sender"));
        } else if (exchange.visitor() != null) {
            exchange.put("relation", relation(entities, exchange.visitorId(), person.id()));
        }
        String submitted = EventLine.SELECT
            + " from Event e where e.submitter.id = :person and e.startsAt >= :now order by e.startsAt, e.id";
        exchange.put("events", entities.createQuery(submitted, EventLine.class).setParameter("person", person.id())
            .setParameter("now", exchange.site().now()).setMaxResults(MOST_EVENTS).getResultList());
        exchange.show("person");
    }

    /** The other sides of the requests that wait. */
    private static List<String> requests(EntityManager entities, int person, String other, String own) {
        String names = "select p.username from Friendship f join f." + other + " p where f." + own + ".id = :person"
            + " and not f.accepted order by p.id";
        return entities.createQuery(names, String.class).setParameter("person", person).setMaxResults(MOST_REQUESTS).getResultList();
    }

    private static Relation relation(EntityManager entities, int visitor, int person) {
        String between = "select f.sender.id, f.accepted from Friendship f"
            + " where f.sender.id = :visitor and f.recipient.id = :person or f.sender.id = :person and f.recipient.id = :visitor"
            + " order by f.accepted desc, f.sender.id";
        List<Object[]> found = entities.createQuery(between, Object[].class).setParameter("visitor", visitor)
            .setParameter("person", person).setMaxResults(1).getResultList();
        if (found.isEmpty()) {
            return Relation.STRANGER;
        }
        if ((boolean) found.get(0)[1]) {
            return Relation.FRIEND;
        }
        return (int) found.get(0)[0] == visitor ? Relation.ASKED : Relation.ASKS;
    }

    /** Whoever registers is not logged in by it, so there is no token. */
    @Override
    protected void post(Exchange exchange) throws ServletException, IOException {
        if (!exchange.path().isEmpty()) {
            throw Problem.notFound();
        }
        Form form = exchange.form();
        NewPerson person = new NewPerson(form, exchange.site());
        if (person.add()) {
            exchange.redirect("/persons/" + form.get("username"));
        } else {
            exchange.put("form", form.fields());
            exchange.put("errors", person.errors());
            exchange.show("person_form", 422);
        }
    }
}
