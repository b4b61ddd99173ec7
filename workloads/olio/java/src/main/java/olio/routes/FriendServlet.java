package olio.routes;

import jakarta.servlet.annotation.WebServlet;
import java.util.Map;
import olio.web.Exchange;
import olio.web.Problem;
import olio.web.SiteServlet;
import olio.web.Visitor;

/** Requests for friendship, and their answers. */
@WebServlet("/friends")
public class FriendServlet extends SiteServlet {
    private static final String OTHER = "(select p.id from Person p where p.username = :other)";
    /** A request, which changes nothing if there is one already: the one change for which the query language has no word. */
    private static final String REQUEST = "insert ignore into friendship (from_id, to_id, accepted)"
        + " select :visitor, id, 0 from person where username = :other";
    private static final Map<String, String> ANSWERS = Map.of(
        "approve", "update Friendship f set f.accepted = true where f.recipient.id = :visitor and f.sender.id = " + OTHER,
        "reject", "delete Friendship f where f.recipient.id = :visitor and f.sender.id = " + OTHER + " and not f.accepted",
        "revoke", "delete Friendship f where f.sender.id = :visitor and f.recipient.id = " + OTHER + " and not f.accepted");

    @Override
    protected void post(Exchange exchange) {
        Visitor visitor = exchange.changingVisitor();
        String action = exchange.field("action");
        String other = exchange.field("person");
        boolean isRequest = action.equals("request");
        if (!isRequest && !ANSWERS.containsKey(action) || other.equals(visitor.name())) {
            throw Problem.badRequest();
        }
        exchange.site().database().inTransaction(entities ->
            (isRequest ? entities.createNativeQuery(REQUEST) : entities.createQuery(ANSWERS.get(action)))
                .setParameter("visitor", visitor.id()).setParameter("other", other).executeUpdate());
        if (action.equals("approve") || action.equals("reject")) {
            exchange.keep(visitor.withRequests(LoginServlet.requests(exchange.entities(), visitor.id())));
        }
        exchange.redirect("/persons/" + visitor.name());
    }
}
