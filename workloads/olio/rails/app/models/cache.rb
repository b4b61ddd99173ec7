# memcached. A cache that does not answer has no values: the site goes on, more slowly.
module Cache
  CLIENT = Dalli::Client.new(ENV.fetch("OLIO_CACHE"), compress: false, socket_timeout: 0.5, down_retry_delay: 1, expires_in: 0)

  class << self
    def get(key)
      safely(nil) { CLIENT.get(key) }
    end

    def get_multi(*keys)
      safely({}) { CLIENT.get_multi(*keys) }
    end

    # A lifetime of 0: until there is no room.
    def set(key, value, lifetime)
      safely(nil) { CLIENT.set(key, value, lifetime, raw: true) }
    end

    # Whether the key was not there, and now is.
    def add(key, lifetime)
      safely(false) { CLIENT.add(key, "1", lifetime, raw: true) }
    end

    def delete(key)
      safely(nil) { CLIENT.delete(key) }
    end

    private

    def safely(otherwise)
      yield
    rescue Dalli::DalliError
      otherwise
    end
  end
end
