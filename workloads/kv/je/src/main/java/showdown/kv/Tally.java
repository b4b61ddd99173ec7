package showdown.kv;

import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.SingleWriterRecorder;

/** What one thread has ended: written by it without a lock, and taken away once an interval by another. */
final class Tally {
    private static final int DIGITS = 3;

    private final SingleWriterRecorder[] counted = new SingleWriterRecorder[Store.OPERATIONS.length];
    /** What ended after the stop, which is no throughput. */
    private final Histogram[] late = new Histogram[Store.OPERATIONS.length];
    private final Failures failures = new Failures();
    private final Failures lateFailures = new Failures();

    /** Operations that ended: their times, and the failures by what is to be said of them. */
    record Operation(Histogram timesUs, Map<String, Long> errors) {
    }

    Tally() {
        for (int operation = 0; operation < counted.length; operation++) {
            counted[operation] = new SingleWriterRecorder(DIGITS);
            late[operation] = new Histogram(DIGITS);
        }
    }

    void succeeded(int operation, long tookUs, boolean isLate) {
        if (isLate) {
            late[operation].recordValue(tookUs);
        } else {
            counted[operation].recordValue(tookUs);
        }
    }

    void failed(int operation, String reason, boolean isLate) {
        (isLate ? lateFailures : failures).add(operation, reason);
    }

    /** What all threads have ended since this was last asked, by operation. */
    static Operation[] counted(Tally[] tallies) {
        Operation[] all = none();
        for (Tally tally : tallies) {
            for (int operation = 0; operation < all.length; operation++) {
                all[operation].timesUs.add(tally.counted[operation].getIntervalHistogram());
            }
            tally.failures.moveTo(all);
        }
        return all;
    }

    /** What all threads have ended after the stop; they must be gone. */
    static Operation[] late(Tally[] tallies) {
        Operation[] all = none();
        for (Tally tally : tallies) {
            for (int operation = 0; operation < all.length; operation++) {
                all[operation].timesUs.add(tally.late[operation]);
            }
            tally.lateFailures.moveTo(all);
        }
        return all;
    }

    private static Operation[] none() {
        var all = new Operation[Store.OPERATIONS.length];
        for (int operation = 0; operation < all.length; operation++) {
            all[operation] = new Operation(new Histogram(DIGITS), new TreeMap<>());
        }
        return all;
    }

    /** Failures are rare, so a lock is no matter. */
    private static final class Failures {
        private final Map<Integer, Map<String, Long>> byOperation = new HashMap<>();

        synchronized void add(int operation, String reason) {
            byOperation.computeIfAbsent(operation, any -> new HashMap<>()).merge(reason, 1L, Long::sum);
        }

        synchronized void moveTo(Operation[] all) {
            byOperation.forEach((operation, errors) -> errors.forEach((reason, count) ->
                    all[operation].errors.merge(reason, count, Long::sum)));
            byOperation.clear();
        }
    }
}
