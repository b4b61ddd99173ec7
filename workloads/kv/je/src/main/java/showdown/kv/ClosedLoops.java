package showdown.kv;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;

/** Closed loops of threads: each thread begins an operation when its previous one is complete. */
final class ClosedLoops {
    private final Store store;
    private final int threads;
    private volatile boolean isStopped;

    ClosedLoops(Store store, int threads) {
        this.store = store;
        this.threads = threads;
    }

    /** Checks each operation once, reports ready, and executes start commands until standard input ends. */
    void serve() throws Exception {
        for (int operation = 0; operation < Store.OPERATIONS.length; operation++) {
            store.execute(operation, new SplittableRandom(0));
        }
        var protocol = new Protocol();
        protocol.printReady();
        String line;
        while ((line = protocol.read()) != null) {
            String[] fields = line.trim().split("\\s+");
            if (fields[0].equals("start") && fields.length > 3) {
                run(fields, protocol);
            } else if (!fields[0].equals("stop")) {
                throw new IOException("\"" + line + "\" is not a runner command: see docs/BYOD.md");
            }
        }
    }

    private void run(String[] fields, Protocol protocol) throws Exception {
        long intervalNs = TimeUnit.MILLISECONDS.toNanos(Long.parseLong(fields[1]));
        long seed = Long.parseUnsignedLong(fields[2]);
        double[] cumulative = cumulativeWeights(fields);
        isStopped = false;
        var completed = new CompletedOperations[threads];
        var workers = new Thread[threads];
        long begin = System.nanoTime();
        for (int at = 0; at < threads; at++) {
            CompletedOperations own = completed[at] = new CompletedOperations();
            var random = new SplittableRandom(seed + at);
            workers[at] = new Thread(() -> loop(own, cumulative, random), "loop-" + at);
            workers[at].start();
        }
        long index = 0;
        String command = null;
        while (command == null) {
            command = protocol.poll(begin + (index + 1) * intervalNs - System.nanoTime());
            long reached = (System.nanoTime() - begin) / intervalNs;
            if (command == null && reached > index) {
                protocol.printInterval(reached - 1, CompletedOperations.takeInterval(completed));
                index = reached;
            }
        }
        isStopped = true;
        long after = System.nanoTime() - begin;
        for (Thread worker : workers) {
            worker.join();
        }
        if (!command.trim().equals("stop")) {
            throw new IOException(protocol.isEnd(command)
                    ? "standard input ended in the middle of a run"
                    : "got \"" + command + "\" in the middle of a run");
        }
        protocol.printInterval(Math.max(index, after / intervalNs), CompletedOperations.takeInterval(completed));
        protocol.printStopped(after / 1e9, CompletedOperations.takeLate(completed));
    }

    private void loop(CompletedOperations completed, double[] cumulative, SplittableRandom random) {
        // The end of an operation is the start of the next one: one clock reading for both.
        long sent = System.nanoTime();
        boolean isLate = isStopped;
        while (!isLate) {
            int operation = draw(cumulative, random);
            String failure = null;
            try {
                store.execute(operation, random);
            } catch (Exception error) {
                failure = Store.reason(error);
            }
            long ended = System.nanoTime();
            isLate = isStopped;
            if (failure == null) {
                completed.succeeded(operation, TimeUnit.NANOSECONDS.toMicros(ended - sent), isLate);
            } else {
                completed.failed(operation, failure, isLate);
            }
            sent = ended;
        }
    }

    /** The cumulative weights of the operations, normalized to 1. */
    private static double[] cumulativeWeights(String[] fields) throws IOException {
        Map<String, Double> weights = new HashMap<>();
        for (int at = 3; at < fields.length; at++) {
            String[] pair = fields[at].split("=", 2);
            weights.put(pair[0], Double.parseDouble(pair[1]));
        }
        double[] cumulative = new double[Store.OPERATIONS.length];
        double sum = 0;
        for (int operation = 0; operation < cumulative.length; operation++) {
            Double weight = weights.remove(Store.OPERATIONS[operation]);
            sum += weight == null ? 0 : weight;
            cumulative[operation] = sum;
        }
        if (!weights.isEmpty()) {
            String known = String.join(", ", Store.OPERATIONS);
            String unknown = weights.keySet().iterator().next();
            throw new IOException("there is no operation \"" + unknown + "\": there are " + known);
        }
        for (int operation = 0; operation < cumulative.length; operation++) {
            cumulative[operation] /= sum;
        }
        return cumulative;
    }

    private static int draw(double[] cumulative, SplittableRandom random) {
        double drawn = random.nextDouble();
        int operation = 0;
        while (drawn >= cumulative[operation]) {
            operation++;
        }
        return operation;
    }
}
