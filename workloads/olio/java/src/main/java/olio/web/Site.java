package olio.web;

import jakarta.servlet.ServletContext;
import jakarta.servlet.ServletContextEvent;
import jakarta.servlet.ServletContextListener;
import jakarta.servlet.annotation.WebListener;
import jakarta.servlet.jsp.JspFactory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.LocalDateTime;
import olio.model.Database;

/**
 * What all requests share: the settings of contract.md, the database, the cache, the store of uploads.
 *
 * @param hasNativeSessions whether sessions are Tomcat's, in the memory of the process, and not in memcached
 */
public record Site(Database database, Cache cache, Uploads uploads, LocalDateTime now, boolean hasNativeSessions) {
    static Site of(ServletContext context) {
        return (Site) context.getAttribute(Site.class.getName());
    }

    private static Site fromEnvironment() {
        int connections = Integer.parseInt(setting("OLIO_POOL"));
        try {
            return new Site(
                new Database(setting("OLIO_DATABASE"), setting("OLIO_DATABASE_PASSWORD"), connections),
                new Cache(setting("OLIO_CACHE")),
                new Uploads(setting("OLIO_UPLOADS"), setting("OLIO_GEOCODER")),
                LocalDateTime.parse(setting("OLIO_NOW").replace(' ', 'T')),
                setting("OLIO_SESSIONS").equals("native"));
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    private static String setting(String name) {
        String value = System.getenv(name);
        if (value == null) {
            throw new IllegalStateException(name + " is not set: contract.md has its meaning");
        }
        return value;
    }

    /** Makes the site before its first request. */
    @WebListener
    public static class Start implements ServletContextListener {
        @Override
        public void contextInitialized(ServletContextEvent event) {
            ServletContext context = event.getServletContext();
            context.setAttribute(Site.class.getName(), fromEnvironment());
            JspFactory.getDefaultFactory().getJspApplicationContext(context).addELResolver(new RecordResolver());
        }
    }
}
