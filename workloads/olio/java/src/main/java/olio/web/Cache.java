package olio.web;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeoutException;
import java.util.logging.Level;
import java.util.logging.Logger;
import net.rubyeye.xmemcached.MemcachedClient;
import net.rubyeye.xmemcached.XMemcachedClientBuilder;
import net.rubyeye.xmemcached.exception.MemcachedException;
import net.rubyeye.xmemcached.transcoders.StringTranscoder;
import net.rubyeye.xmemcached.utils.AddrUtil;

/** memcached. A cache that does not answer has no values: the site goes on, more slowly. */
public final class Cache {
    private static final Logger LOG = Logger.getLogger(Cache.class.getName());
    /** A cache on the same machine answers within microseconds; one that does not is gone. */
    private static final int TIMEOUT_MS = 500;

    private final MemcachedClient client;

    Cache(String address) throws IOException {
        XMemcachedClientBuilder builder = new XMemcachedClientBuilder(AddrUtil.getAddresses(address));
        builder.setTranscoder(new StringTranscoder());
        builder.setOpTimeout(TIMEOUT_MS);
        client = builder.build();
    }

    /** {@code null} if there is none. */
    public String get(String key) {
        return ask(() -> client.get(key), null);
    }

    public Map<String, String> get(List<String> keys) {
        return ask(() -> client.get(keys), Map.of());
    }

    /** A lifetime of 0: until there is no room. */
    public void set(String key, String value, int lifetime) {
        ask(() -> client.set(key, lifetime, value), false);
    }

    /** Whether the key was not there, and now is. */
    public boolean add(String key, int lifetime) {
        return ask(() -> client.add(key, lifetime, "1"), false);
    }

    public void delete(String key) {
        ask(() -> client.delete(key), false);
    }

    private interface Call<T> {
        T answer() throws TimeoutException, InterruptedException, MemcachedException;
    }

    private static <T> T ask(Call<T> call, T otherwise) {
        try {
            return call.answer();
        } catch (TimeoutException | MemcachedException failure) {
            LOG.log(Level.FINE, "the cache does not answer", failure);
        } catch (InterruptedException failure) {
            Thread.currentThread().interrupt();
        }
        return otherwise;
    }
}
