class Comment < ApplicationRecord
  # With the names of their authors.
  def self.of(event)
    joins("JOIN person p ON p.id = comment.person_id").select("comment.*, p.username AS author").where(event_id: event).order(:id)
  end

  # Returns 0 if there is no such event.
  def self.add(visitor, event, body)
    run("INSERT INTO comment (person_id, event_id, body, rating, created_at) SELECT ?, id, ?, ?, ? FROM event WHERE id = ?",
        visitor.id, body, visitor.rating, Olio::NOW, event)
  end

  def written
    created_at.strftime("%Y-%m-%d %H:%M")
  end
end
