class Tag < ApplicationRecord
  Cloud = Struct.new(:name, :size)

  # The most used tags by name, each with a size from 1 to 5.
  def self.cloud(number)
    tags = order(refcount: :desc, name: :asc).limit(number).pluck(:name, :refcount)
    most, least = tags.map(&:last).minmax.reverse
    tags.sort.map { |name, refcount| Cloud.new(name, 1 + (most > least ? 4 * (refcount - least) / (most - least) : 0)) }
  end

  # Counts the tag for an event, and makes it if it is new.
  def self.relate(name, event)
    run("INSERT INTO tag (name, refcount) VALUES (?, 1) ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(id), refcount = refcount + 1", name)
    run("INSERT INTO event_tag (tag_id, event_id) VALUES (?, ?)", connection.raw_connection.last_id, event)
  end

  def events
    Event.joins("JOIN event_tag et ON et.event_id = event.id").where("et.tag_id = ?", id)
  end
end
