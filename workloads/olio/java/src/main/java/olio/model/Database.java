package olio.model;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import jakarta.persistence.EntityManager;
import jakarta.persistence.Persistence;
import java.sql.SQLException;
import java.util.Map;
import java.util.function.Function;
import org.hibernate.SessionFactory;

/** MariaDB behind Hibernate, with a fixed number of connections that stay open. */
public final class Database {
    public static final int DUPLICATE_KEY = 1062;
    private static final int DEADLOCK = 1213;
    private static final int MOST_ATTEMPTS = 5;

    private final SessionFactory sessions;

    /** {@code address} is HOST:PORT. */
    public Database(String address, String password, int connections) {
        HikariConfig pool = new HikariConfig();
        pool.setJdbcUrl("jdbc:mariadb://" + address + "/olio");
        pool.setUsername("olio");
        pool.setPassword(password);
        pool.setMaximumPoolSize(connections);
        pool.setMaxLifetime(0);
        Map<String, Object> source = Map.of("jakarta.persistence.nonJtaDataSource", new HikariDataSource(pool));
        sessions = Persistence.createEntityManagerFactory("olio", source).unwrap(SessionFactory.class);
    }

    /** To read: each query takes a connection for itself. */
    public EntityManager open() {
        return sessions.createEntityManager();
    }

    /** Work in a transaction. One that the database ends as a deadlock is begun again. */
    public <T> T inTransaction(Function<EntityManager, T> work) {
        for (int attempt = 1; ; attempt++) {
            try {
                return sessions.fromTransaction(work::apply);
            } catch (RuntimeException failure) {
                if (attempt == MOST_ATTEMPTS || !isError(failure, DEADLOCK)) {
                    throw failure;
                }
            }
        }
    }

    /** Whether a failure comes from this error of MariaDB. */
    public static boolean isError(Throwable failure, int code) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause instanceof SQLException error && error.getErrorCode() == code) {
                return true;
            }
        }
        return false;
    }
}
