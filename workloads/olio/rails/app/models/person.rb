class Person < ApplicationRecord
  scope :with_place, lambda {
    joins("JOIN address a ON a.id = person.address_id").select("person.*, a.city, a.state, a.country")
  }

  def self.digest(salt, password)
    Digest::SHA256.hexdigest(salt + password)
  end

  # A column is named so, too: this asks, and does not change it.
  def password?(text)
    ActiveSupport::SecurityUtils.secure_compare(password, self.class.digest(salt, text))
  end

  # The first six.
  def friends
    statement = "JOIN (SELECT to_id AS id FROM friendship WHERE from_id = ? AND accepted = 1 " \
                "UNION SELECT from_id FROM friendship WHERE to_id = ? AND accepted = 1) f ON f.id = person.id"
    Person.joins(Person.sanitize_sql([statement, id, id])).select(:id, :username, :thumb).order(:id).limit(6).to_a
  end

  # The other sides of the requests that wait; `side` is the column of this person.
  def requests(other, side)
    Person.joins("JOIN friendship f ON person.id = f.#{other}").where("f.#{side} = ? AND f.accepted = 0", id)
          .order(:id).limit(50).pluck(:username)
  end

  # What a visitor is to the person.
  def relation(visitor)
    row = Friendship.where(from_id: visitor, to_id: id).or(Friendship.where(from_id: id, to_id: visitor))
                    .order(accepted: :desc, from_id: :asc).limit(1).pick(:from_id, :accepted)
    return :stranger unless row
    return :friend if row.last == 1

    row.first == visitor ? :asked : :asks
  end
end
