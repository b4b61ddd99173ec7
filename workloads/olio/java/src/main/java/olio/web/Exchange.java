package olio.web;

import jakarta.persistence.EntityManager;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.Cookie;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import jakarta.servlet.http.HttpServletResponseWrapper;
import jakarta.servlet.http.HttpSession;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;

/** A request and its reply: who asks, with which fields, and the page, text or place that is sent. */
public final class Exchange implements AutoCloseable {
    private static final String COOKIE = "olio";
    private static final String VISITOR = "visitor";

    private final Site site;
    private final HttpServletRequest request;
    private final HttpServletResponse response;
    private final EntityManager entities;
    private Visitor visitor;
    private boolean isVisitorKnown;

    Exchange(Site site, HttpServletRequest request, HttpServletResponse response) {
        this.site = site;
        this.request = request;
        this.response = response;
        entities = site.database().open();
    }

    @Override
    public void close() {
        entities.close();
    }

    public Site site() {
        return site;
    }

    /** To read from the tables. */
    public EntityManager entities() {
        return entities;
    }

    /** What follows the servlet's own path; empty if nothing does. */
    public String path() {
        return request.getPathInfo() == null ? "" : request.getPathInfo();
    }

    /** Without blanks around it; empty if it was not sent. */
    public String field(String name) {
        String value = request.getParameter(name);
        return value == null ? "" : value.strip();
    }

    public Form form() throws IOException {
        try {
            return Form.of(request.getParts());
        } catch (ServletException | IllegalStateException noForm) {
            throw Problem.badRequest();
        }
    }

    /** Who is logged in; {@code null} if nobody is. */
    public Visitor visitor() {
        if (!isVisitorKnown) {
            visitor = site.hasNativeSessions() ? inMemory() : inCache();
        }
        isVisitorKnown = true;
        return visitor;
    }

    private Visitor inMemory() {
        HttpSession session = request.getSession(false);
        return session == null ? null : (Visitor) session.getAttribute(VISITOR);
    }

    private Visitor inCache() {
        if (request.getCookies() != null) {
            for (Cookie cookie : request.getCookies()) {
                if (cookie.getName().equals(COOKIE) && cookie.getValue().matches("[0-9a-f]{32}")) {
                    return Visitor.inCache(site.cache(), cookie.getValue());
                }
            }
        }
        return null;
    }

    /** The session has the visitor from now on. */
    public void keep(Visitor visitor) {
        if (site.hasNativeSessions()) {
            request.getSession().setAttribute(VISITOR, visitor);
        } else {
            visitor.keepIn(site.cache());
        }
    }

    /** The number of the visitor; 0 if nobody is logged in. */
    public int visitorId() {
        return visitor() == null ? 0 : visitor.id();
    }

    /** The visitor of a change, whose form has the session's token. */
    public Visitor changingVisitor(String token) {
        if (visitor() == null || !Secrets.equal(visitor.token(), token)) {
            throw Problem.forbidden();
        }
        return visitor;
    }

    public Visitor changingVisitor() {
        return changingVisitor(field("token"));
    }

    /** A name and its value for pages. */
    public void put(String name, Object value) {
        request.setAttribute(name, value);
    }

    /** A page in the frame, which shows three of the visitor's next events. */
    public void show(String view) throws ServletException, IOException {
        if (visitor() != null) {
            String attended = EventLine.SELECT + " from Attendance a join a.event e"
                + " where a.person.id = :visitor and e.startsAt >= :now order by e.startsAt, e.id";
            put("upcoming", entities.createQuery(attended, EventLine.class).setParameter("visitor", visitor.id())
                .setParameter("now", site.now()).setMaxResults(3).getResultList());
        }
        showPart(view);
    }

    /** A page that needs no more than the visitor. */
    public void showPart(String view) throws ServletException, IOException {
        put("visitor", visitor());
        request.getRequestDispatcher(place(view)).forward(request, response);
    }

    public void show(String view, int status) throws ServletException, IOException {
        response.setStatus(status);
        show(view);
    }

    /** A page as somebody sees it who is not logged in. */
    public String render(String view) throws ServletException, IOException {
        StringWriter text = new StringWriter();
        PrintWriter writer = new PrintWriter(text);
        request.getRequestDispatcher(place(view)).include(request, new HttpServletResponseWrapper(response) {
            @Override
            public PrintWriter getWriter() {
                return writer;
            }
        });
        return text.toString();
    }

    private static String place(String view) {
        return "/WEB-INF/views/" + view + ".jsp";
    }

    public void send(String page, int status) throws IOException {
        response.setStatus(status);
        response.setContentType("text/html;charset=UTF-8");
        response.getWriter().write(page);
    }

    /** Where the browser goes after a change. */
    public void redirect(String place) {
        response.setStatus(HttpServletResponse.SC_SEE_OTHER);
        response.setHeader("Location", place);
    }

    /** The browser keeps the session until it ends. */
    public void begin(Visitor visitor) {
        if (site.hasNativeSessions() && request.getSession(false) != null) {
            // A session of somebody else, or one that was planted: its name is not used again.
            request.changeSessionId();
        }
        keep(visitor);
        if (!site.hasNativeSessions()) {
            response.addCookie(cookie(visitor.session()));
        }
    }

    public void end(Visitor visitor) {
        if (site.hasNativeSessions()) {
            request.getSession().invalidate();
            return;
        }
        visitor.endIn(site.cache());
        Cookie cookie = cookie("");
        cookie.setMaxAge(0);
        response.addCookie(cookie);
    }

    private static Cookie cookie(String value) {
        Cookie cookie = new Cookie(COOKIE, value);
        cookie.setPath("/");
        cookie.setHttpOnly(true);
        cookie.setAttribute("SameSite", "Lax");
        return cookie;
    }
}
