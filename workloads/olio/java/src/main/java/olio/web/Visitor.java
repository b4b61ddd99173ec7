package olio.web;

import com.google.gson.Gson;

/**
 * Somebody who is logged in, as the session has it.
 *
 * @param requests requests for friendship that wait for an answer
 * @param rating the rating of the next comment; 0 without one
 */
public record Visitor(String session, int id, String name, String token, long requests, int rating) {
    private static final int LIFETIME_S = 3_600;
    private static final Gson JSON = new Gson();

    /** A new session, which is not kept yet. */
    public static Visitor of(int id, String name, long requests) {
        return new Visitor(Secrets.random(16), id, name, Secrets.random(16), requests, 0);
    }

    /** {@code null} if the session is over. */
    static Visitor inCache(Cache cache, String session) {
        return JSON.fromJson(cache.get(key(session)), Visitor.class);
    }

    public Visitor withRating(int rating) {
        return new Visitor(session, id, name, token, requests, rating);
    }

    public Visitor withRequests(long requests) {
        return new Visitor(session, id, name, token, requests, rating);
    }

    void keepIn(Cache cache) {
        cache.set(key(session), JSON.toJson(this), LIFETIME_S);
    }

    void endIn(Cache cache) {
        cache.delete(key(session));
    }

    private static String key(String session) {
        return "session:" + session;
    }
}
