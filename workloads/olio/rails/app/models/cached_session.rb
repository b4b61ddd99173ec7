# A session in memcached, behind a cookie of the site's own.
class CachedSession
  LIFETIME = 3_600
  COOKIE = "Path=/; HttpOnly; SameSite=Lax".freeze

  def initialize(request, response)
    @response = response
    @id = request.headers["Cookie"].to_s[/(?:\A|;\s*)olio=([0-9a-f]{32})(?:;|\z)/, 1]
  end

  # nil if there is none.
  def values
    text = @id && Cache.get(key) or return
    JSON.parse(text)
  end

  def start
    @id = SecureRandom.hex(16)
    @response.headers["Set-Cookie"] = "olio=#{@id}; #{COOKIE}"
  end

  def save(values)
    Cache.set(key, values.to_json, LIFETIME)
  end

  def finish
    Cache.delete(key)
    @response.headers["Set-Cookie"] = "olio=; Max-Age=0; #{COOKIE}"
  end

  private

  def key
    "session:#{@id}"
  end
end
