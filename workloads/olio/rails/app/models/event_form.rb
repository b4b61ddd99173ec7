# A new event.
class EventForm < SiteForm
  TAG = /\A[a-z0-9-]{1,30}\z/.freeze

  fields :title, :description, :date, :hour, :minute, :tags

  text :title, 1..100
  text :summary, 1..100
  text :description, 1..500
  validate { errors.add(:base, "date: a day") unless Filter.day?(date) }
  pattern :hour, /\A([01]?\d|2[0-3])\z/, "0 to 23"
  pattern :minute, /\A[0-5]?\d\z/, "0 to 59"
  text :timezone, 1..25
  pattern :telephone, /\A[0-9 +-]{7,20}\z/, "7 to 20 digits"
  address
  validate { errors.add(:base, "tags: 1 to 7 words of letters, digits and hyphens") unless tags_hold? }
  validate :image_is_jpeg
  validate { errors.add(:base, "literature: a PDF file") unless literature.empty? || literature.start_with?("%PDF") }

  # The event, or nil if the form does not hold.
  def save(visitor)
    return unless valid? && (thumb = thumbnail)

    place = Upload.geocode(self)
    Event.atomically do
      event = create_event(visitor, create_address(place))
      words.each { |word| Tag.relate(word, event.id) }
      Event.run("INSERT INTO attendance (person_id, event_id) VALUES (?, ?)", visitor.id, event.id)
      store_files(event, thumb)
      event
    end
  end

  private

  def literature
    file(:literature)
  end

  def words
    tags.downcase.split.uniq.sort
  end

  def tags_hold?
    (1..7).cover?(words.size) && words.all?(TAG)
  end

  def create_event(visitor, address)
    Event.create!(title: title, summary: summary, description: description, submitter_id: visitor.id, address_id: address.id,
                  telephone: telephone, timezone: timezone, starts_at: "#{date} #{hour}:#{minute}:00", created_at: Olio::NOW,
                  image: "", thumb: "", literature: "")
  end

  # Files are there before the event is: a page never names one that is not.
  def store_files(event, thumb)
    id = event.id
    leaflet = literature.empty? ? "" : Upload.store("eventLits", id, "E#{id}l.pdf", literature)
    event.update!(image: Upload.store("events", id, "E#{id}.jpg", image),
                  thumb: Upload.store("eventThumbs", id, "E#{id}t.jpg", thumb), literature: leaflet)
  end
end
