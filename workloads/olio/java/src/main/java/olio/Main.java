package olio;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.catalina.Context;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.loader.WebappLoader;
import org.apache.catalina.startup.Tomcat;
import org.apache.catalina.webresources.DirResourceSet;
import org.apache.catalina.webresources.StandardRoot;

/** Tomcat with the site in it. It listens on a Unix socket, behind the web server; all that it writes is beside the socket. */
public final class Main {
    /** As in memcached: an hour. */
    private static final int SESSION_MINUTES = 60;
    /** A connection of the web server stays open for as long as the web server wants it. */
    private static final String KEEP_ALIVE_MS = "300000";

    private Main() {
    }

    public static void main(String[] arguments) throws Exception {
        Logger.getLogger("").setLevel(Level.WARNING);
        Path socket = Path.of(System.getenv("OLIO_SOCKET")).toAbsolutePath();
        Files.deleteIfExists(socket);
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(socket.resolveSibling("tomcat").toString());
        tomcat.setConnector(connector(socket, System.getenv("OLIO_WORKERS")));
        Context site = addSite(tomcat, Path.of(Main.class.getProtectionDomain().getCodeSource().getLocation().toURI()));
        tomcat.start();
        if (!site.getState().isAvailable()) {
            // The log has the reason. Threads of the database's pool would keep a program without a site alive.
            System.exit(1);
        }
        tomcat.getServer().await();
    }

    private static Connector connector(Path socket, String workers) {
        Connector connector = new Connector();
        connector.setThrowOnFailure(true);
        connector.setProperty("unixDomainSocketPath", socket.toString());
        connector.setProperty("unixDomainSocketPathPermissions", "rwxrwxrwx");
        // Whoever can connect is answered.
        connector.setProperty("bindOnInit", "false");
        connector.setProperty("maxThreads", workers);
        connector.setProperty("minSpareThreads", workers);
        connector.setProperty("maxKeepAliveRequests", "-1");
        connector.setProperty("keepAliveTimeout", KEEP_ALIVE_MS);
        return connector;
    }

    /** The pages are beside the classes, in which Tomcat looks for annotations of servlets. */
    private static Context addSite(Tomcat tomcat, Path classes) {
        Context site = tomcat.addWebapp("", classes.resolveSibling("webapp").toString());
        site.setSessionTimeout(SESSION_MINUTES);
        StandardRoot resources = new StandardRoot(site);
        resources.addPreResources(new DirResourceSet(resources, "/WEB-INF/classes", classes.toString(), "/"));
        site.setResources(resources);
        WebappLoader loader = new WebappLoader();
        loader.setDelegate(true);
        site.setLoader(loader);
        return site;
    }
}
