package olio.routes;

import jakarta.persistence.EntityManager;
import jakarta.servlet.ServletException;
import jakarta.servlet.annotation.WebServlet;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import olio.web.Exchange;
import olio.web.Secrets;
import olio.web.SiteServlet;
import olio.web.Visitor;

/** Visitors log in. */
@WebServlet("/login")
public class LoginServlet extends SiteServlet {
    /** What is asked of the table before somebody is believed. */
    public record Account(Integer id, String salt, String password) {
    }

    @Override
    protected void post(Exchange exchange) throws ServletException, IOException {
        String name = exchange.field("username");
        String account = "select p.id, p.salt, p.password from Person p where p.username = :name";
        Account found = exchange.entities().createQuery(account, Account.class).setParameter("name", name)
            .getResultStream().findFirst().orElse(null);
        if (found == null || !Secrets.equal(found.password(), Secrets.hash(found.salt(), exchange.field("password")))) {
            exchange.send(exchange.render("login"), HttpServletResponse.SC_UNAUTHORIZED);
            return;
        }
        exchange.begin(Visitor.of(found.id(), name, requests(exchange.entities(), found.id())));
        exchange.redirect("/");
    }

    /** Requests for friendship that wait for the person's answer. */
    static long requests(EntityManager entities, int person) {
        String waiting = "select count(*) from Friendship f where f.recipient.id = :person and not f.accepted";
        return entities.createQuery(waiting, Long.class).setParameter("person", person).getSingleResult();
    }
}
