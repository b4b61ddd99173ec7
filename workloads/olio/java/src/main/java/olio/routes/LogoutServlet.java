package olio.routes;

import jakarta.servlet.annotation.WebServlet;
import olio.web.Exchange;
import olio.web.SiteServlet;

/** Visitors log out. */
@WebServlet("/logout")
public class LogoutServlet extends SiteServlet {
    @Override
    protected void post(Exchange exchange) {
        exchange.end(exchange.changingVisitor());
        exchange.redirect("/");
    }
}
