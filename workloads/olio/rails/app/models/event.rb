# A social event. Lists need no more than its own columns; its page needs the place and the submitter, too.
class Event < ApplicationRecord
  scope :by_date, -> { order(:starts_at, :id) }
  scope :upcoming, -> { where("event.starts_at >= ?", Olio::NOW) }
  scope :with_place, lambda {
    joins("JOIN address a ON a.id = event.address_id JOIN person p ON p.id = event.submitter_id")
      .select("event.*, p.username AS submitter, a.street1, a.street2, a.city, a.state, a.zip, a.country, " \
              "CAST(a.latitude AS CHAR) AS latitude, CAST(a.longitude AS CHAR) AS longitude")
  }

  def starts
    starts_at.strftime("%Y-%m-%d %H:%M")
  end

  # The event with all that belongs to it.
  def remove
    self.class.run("UPDATE tag SET refcount = refcount - 1 WHERE id IN (SELECT tag_id FROM event_tag WHERE event_id = ?)", id)
    %w[event_tag attendance comment].each { |table| self.class.run("DELETE FROM #{table} WHERE event_id = ?", id) }
    delete
    Address.where(id: address_id).delete_all
  end
end
