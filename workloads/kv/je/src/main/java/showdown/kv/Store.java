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

/** The store: an environment with one database, shared by all threads. Every call is a transaction of its own. */
final class Store implements AutoCloseable {
    /** The operations, by index. */
    static final String[] OPERATIONS = {"search", "update"};
    private static final int SEARCH = 0;

    /** How long a thread waits for the lock of a record: as long as the SQLite runner. */
    private static final long LOCK_TIMEOUT_SECONDS = 5;
    /** Records loaded by one transaction. Each needs a lock in memory until the commit. */
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
        config.setLockTimeout(LOCK_TIMEOUT_SECONDS, TimeUnit.SECONDS);
        // Both write a commit to the file. SYNC also waits until it is on the disk.
        config.setDurability(isDurable ? Durability.COMMIT_SYNC : Durability.COMMIT_WRITE_NO_SYNC);
        config.setConfigParam("je.env.sharedLatches", Boolean.toString(sharesLatches));
        if (JEVersion.CURRENT_VERSION.getMajor() >= 18) {
            // By default it refuses to write with less than 5 GB of free disk space. The other stores have no such limit.
            config.setConfigParam("je.freeDisk", "0");
        }
        environment = new Environment(home, config);
        database = environment.openDatabase(null, "kv",
                new DatabaseConfig().setAllowCreate(true).setTransactional(true));
    }

    /** Stores all records in key order. */
    void load() {
        var random = new SplittableRandom(1);
        var withoutSync = new TransactionConfig().setDurability(Durability.COMMIT_NO_SYNC);
        for (long first = 0; first < records; first += BATCH) {
            Transaction transaction = environment.beginTransaction(null, withoutSync);
            for (long number = first; number < Math.min(first + BATCH, records); number++) {
                database.put(transaction, new DatabaseEntry(key(number)), new DatabaseEntry(value(number, random)));
            }
            transaction.commit();
        }
        environment.sync();
    }

    /** Executes an operation, given as an index into OPERATIONS. */
    void execute(int operation, SplittableRandom random) throws IOException {
        if (operation == SEARCH) {
            search(random.nextLong(records));
        } else {
            // The records are spread over the whole store, so that they do not share pages by their position.
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
            throw new IOException("a record has a wrong value");
        }
    }

    private void update(long number, SplittableRandom random) {
        database.put(null, new DatabaseEntry(key(number)), new DatabaseEntry(value(number, random)));
    }

    /** Big-endian, so that keys sort by their numbers. */
    private static byte[] key(long number) {
        return ByteBuffer.allocate(Long.BYTES).putLong(number).array();
    }

    /** The key, then random bytes, which no store can compress. */
    private byte[] value(long number, SplittableRandom random) {
        byte[] value = new byte[valueBytes];
        random.nextBytes(value);
        ByteBuffer.wrap(value).putLong(number);
        return value;
    }

    /** The reason of a failure, as a text without variable parts: the store's messages contain locker numbers. */
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
            // After a full disk the store cannot be closed cleanly. Its files are removed anyway.
            System.err.println("cannot close the store: " + reason(error));
        }
    }
}
