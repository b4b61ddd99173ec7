class Friendship < ApplicationRecord
  # The first value is the visitor, the second the name of the other person.
  CHANGES = {
    "request" => "INSERT IGNORE INTO friendship (from_id, to_id, accepted) SELECT ?, id, 0 FROM person WHERE username = ?",
    "approve" => "UPDATE friendship f JOIN person p ON p.id = f.from_id SET f.accepted = 1 WHERE f.to_id = ? AND p.username = ?",
    "reject" => "DELETE f FROM friendship f JOIN person p ON p.id = f.from_id " \
                "WHERE f.to_id = ? AND p.username = ? AND f.accepted = 0",
    "revoke" => "DELETE f FROM friendship f JOIN person p ON p.id = f.to_id " \
                "WHERE f.from_id = ? AND p.username = ? AND f.accepted = 0"
  }.freeze

  # Requests that wait for the person's answer.
  def self.waiting(person)
    where(to_id: person, accepted: 0).count
  end
end
