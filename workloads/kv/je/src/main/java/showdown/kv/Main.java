package showdown.kv;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;

/**
 * The runner of Berkeley DB Java Edition: loads the store, and reads and updates it with threads on each start command.
 * docs/BYOD.md documents the protocol. crates/runners contains the runner of the other stores, with the same behaviour.
 */
public final class Main {
    /** The name of the runner's directory below the given one. The runner removes it with its contents. */
    private static final String DIRECTORY_NAME = "showdown-kv";

    private Main() {
    }

    public static void main(String[] arguments) {
        try {
            run(options(arguments));
        } catch (Exception error) {
            System.err.println(Store.reason(error));
            System.exit(1);
        }
        // The thread that reads commands may still wait for one.
        System.exit(0);
    }

    private static void run(Map<String, String> options) throws Exception {
        int threads = Integer.parseInt(options.get("threads"));
        long records = Long.parseLong(options.get("records"));
        Path directory = Path.of(options.get("directory"), DIRECTORY_NAME);
        // A killed runner may have left its directory.
        remove(directory);
        Files.createDirectories(directory);
        try (Store store = new Store(directory.toFile(), records,
                Integer.parseInt(options.get("value-bytes")), Long.parseLong(options.get("hot")),
                options.get("durability").equals("commit"), options.get("shared-latches").equals("true"))) {
            try {
                store.load();
            } catch (Exception error) {
                throw new IOException("cannot store " + records + " records: " + Store.reason(error), error);
            }
            new ClosedLoops(store, threads).serve();
        } finally {
            remove(directory);
        }
    }

    private static Map<String, String> options(String[] arguments) {
        Map<String, String> options = new HashMap<>();
        for (String argument : arguments) {
            String[] pair = argument.split("=", 2);
            options.put(pair[0].substring("--".length()), pair[1]);
        }
        return options;
    }

    private static void remove(Path directory) throws IOException {
        if (!Files.exists(directory)) {
            return;
        }
        try (var paths = Files.walk(directory)) {
            paths.sorted(Comparator.reverseOrder()).forEach(path -> {
                try {
                    Files.deleteIfExists(path);
                } catch (IOException error) {
                    throw new UncheckedIOException(error);
                }
            });
        }
    }
}
