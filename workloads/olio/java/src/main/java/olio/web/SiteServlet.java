package olio.web;

import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;

/** What all routes have in common. A path that a route does not know, or a method that it does not have, is not found. */
public abstract class SiteServlet extends HttpServlet {
    @Override
    protected final void service(HttpServletRequest request, HttpServletResponse response) throws ServletException, IOException {
        try (Exchange exchange = new Exchange(Site.of(getServletContext()), request, response)) {
            switch (request.getMethod()) {
                case "GET" -> get(exchange);
                case "POST" -> post(exchange);
                default -> throw Problem.notFound();
            }
        } catch (Problem problem) {
            response.sendError(problem.status);
        }
    }

    protected void get(Exchange exchange) throws ServletException, IOException {
        throw Problem.notFound();
    }

    protected void post(Exchange exchange) throws ServletException, IOException {
        throw Problem.notFound();
    }
}
