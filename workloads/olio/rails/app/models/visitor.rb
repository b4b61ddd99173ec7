# Who is logged in: a session in memcached, behind a cookie.
class Visitor
  LIFETIME = 3_600

  attr_reader :session, :id, :name, :token, :requests, :rating

  def self.find(cookies)
    session = cookies.to_s[/(?:\A|;\s*)olio=([0-9a-f]{32})(?:;|\z)/, 1] or return
    values = Cache.get("session:#{session}") or return
    new(session, JSON.parse(values))
  end

  def self.log_in(person)
    values = { "id" => person.id, "name" => person.username, "token" => SecureRandom.hex(16),
               "requests" => Friendship.waiting(person.id), "rating" => 0 }
    new(SecureRandom.hex(16), values).tap(&:save)
  end

  def initialize(session, values)
    @session = session
    @id, @name, @token, @requests, @rating = values.values_at("id", "name", "token", "requests", "rating")
  end

  # Changes the rating or the number of requests.
  def keep(rating: @rating, requests: @requests)
    @rating = rating
    @requests = requests
    save
  end

  def save
    values = { id: id, name: name, token: token, requests: requests, rating: rating }
    Cache.set("session:#{session}", values.to_json, LIFETIME)
  end

  def log_out
    Cache.delete("session:#{session}")
  end
end
