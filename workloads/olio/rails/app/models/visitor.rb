# Who is logged in.
class Visitor
  attr_reader :id, :name, :token, :requests, :rating

  def self.find(session)
    values = session.values or return
    new(session, values)
  end

  def self.log_in(session, person)
    values = { "id" => person.id, "name" => person.username, "token" => SecureRandom.hex(16),
               "requests" => Friendship.waiting(person.id), "rating" => 0 }
    session.start
    new(session, values).tap(&:save)
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
    @session.save("id" => id, "name" => name, "token" => token, "requests" => requests, "rating" => rating)
  end

  def log_out
    @session.finish
  end
end
