package olio.web;

import jakarta.servlet.http.HttpServletResponse;

/** Why a request has no page. */
public final class Problem extends RuntimeException {
    final int status;

    private Problem(int status) {
        super("status " + status, null, false, false);
        this.status = status;
    }

    public static Problem badRequest() {
        return new Problem(HttpServletResponse.SC_BAD_REQUEST);
    }

    /** Nobody is logged in, or the token is not that of the session. */
    public static Problem forbidden() {
        return new Problem(HttpServletResponse.SC_FORBIDDEN);
    }

    public static Problem notFound() {
        return new Problem(HttpServletResponse.SC_NOT_FOUND);
    }
}
