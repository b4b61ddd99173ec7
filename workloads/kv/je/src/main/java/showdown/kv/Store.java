package showdown.kv;

import com.sleepycat.je.Database;
import com.sleepycat.je.DatabaseConfig;
import com.sleepycat.je.DatabaseEntry;
import com.sleepycat.je.Durability;
import com.sleepycat.je.Environment;
import com.sleepycat.je.EnvironmentConfig;
import com.sleepycat.je.JEVersion;
import com.sleepycat.je.LockMode;
import com.sleepycat.je.OperationStatus;
import com.sleepycat.je.Transaction;
import com.sleepycat.je.TransactionConfig;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;

/** The store: an environment with one database, shared by all threads; every call is a transaction of its own. */
final class Store implements AutoCloseable {
    /** The operations, by index. */
    static final String[] OPERATIONS = {"search", "update"};
    private static final int SEARCH = 0;

    /** How long a thread waits for a record that others hold, before it gives up: as long as SQLite's do. */
    private static final long PATIENCE_SECONDS = 5;
    /** Records loaded by one transaction: each is a lock in memory until its commit. */
    private static final int BATCH = 1000;

    private final Environment environment;
    private final Database database;
    private final long records;
    private final int valueBytes;
    private final long hot;

    Store(File home, long records, int valueBytes, long hot, boolean isDurable, boolean sharesLatches) {
        this.records = records;
        this.valueBytes = valueBytes;
        this.hot = Math.min(hot, records);
        EnvironmentConfig config = new EnvironmentConfig();
        config.setAllowCreate(true).setTransactional(true);
        config.setLockTimeout(PATIENCE_SECONDS, TimeUnit.SECONDS);
        // Both write a commit to the file; SYNC also waits until it is on the disk.
        config.setDurability(isDurable ? Durability.COMMIT_SYNC : Durability.COMMIT_WRITE_NO_SYNC);
        config.setConfigParam("je.env.sharedLatches", Boolean.toString(sharesLatches));
        if (JEVersion.CURRENT_VERSION.getMajor() >= 18) {
            // It keeps 5 GB of the disk free and refuses to write below that; the other stores use what there is.
            config.setConfigParam("je.freeDisk", "0");
        }
        environment = new Environment(home, config);
        database = environment.openDatabase(null, "kv",
                new DatabaseConfig().setAllowCreate(true).setTransactional(true));
    }

    /** Stores all records in the order of their keys. */
    void load() {
        var random = new SplittableRandom(1);
        var withoutWaiting = new TransactionConfig().setDurability(Durability.COMMIT_NO_SYNC);
        for (long first = 0; first < records; first += BATCH) {
            Transaction transaction = environment.beginTransaction(null, withoutWaiting);
            for (long number = first; number < Math.min(first + BATCH, records); number++) {
                database.put(transaction, new DatabaseEntry(key(number)), new DatabaseEntry(value(number, random)));
            }
            transaction.commit();
        }
        environment.sync();
    }

    /** Carries out an operation, an index into OPERATIONS. */
    void operate(int operation, SplittableRandom random) throws IOException {
        if (operation == SEARCH) {
            search(random.nextLong(records));
        } else {
            // Spread over the whole store, so that they share no page unless the store makes them.
            update(random.nextLong(hot) * (records / hot), random);
        }
    }

    private void search(long number) throws IOException {
        var found = new DatabaseEntry();
        OperationStatus status = database.get(null, new DatabaseEntry(key(number)), found, LockMode.DEFAULT);
        if (status != OperationStatus.SUCCESS) {
            throw new IOException("a record is missing");
        }
        byte[] value = found.getData();
        if (value.length != valueBytes || ByteBuffer.wrap(value).getLong() != number) {
            throw new IOException("a record has another value than was stored");
        }
    }

    private void update(long number, SplittableRandom random) {
        database.put(null, new DatabaseEntry(key(number)), new DatabaseEntry(value(number, random)));
    }

    /** Big-endian, so that the order of keys is that of their numbers. */
    private static byte[] key(long number) {
        return ByteBuffer.allocate(Long.BYTES).putLong(number).array();
    }

    /** Random, so that no store can make it smaller, after its key. */
    private byte[] value(long number, SplittableRandom random) {
        byte[] value = new byte[valueBytes];
        random.nextBytes(value);
        ByteBuffer.wrap(value).putLong(number);
        return value;
    }

    /** Why something failed, in words that do not change from time to time: the store's messages number lockers. */
    static String reason(Throwable error) {
        Throwable root = error;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        if (error instanceof IOException) {
            return error.getMessage();
        }
        String kind = error.getClass().getSimpleName();
        return root instanceof IOException ? kind + ": " + root.getMessage() : kind;
    }

    @Override
    public void close() {
        try {
            database.close();
            environment.close();
        } catch (RuntimeException error) {
            // One that a full disk has broken cannot be closed in good order; its files are removed all the same.
            System.err.println("the store was not closed: " + reason(error));
        }
    }
}
