# Who attends an event: how many, whether the visitor does, and the first names, the visitor's before all others.
Attendees = Struct.new(:event, :count, :attends, :names) do
  def self.of(event, visitor)
    person = visitor&.id || 0
    counted = "SELECT COUNT(*), EXISTS(SELECT 1 FROM attendance WHERE event_id = :event AND person_id = :person) " \
              "FROM attendance WHERE event_id = :event"
    names = "SELECT p.username FROM attendance a JOIN person p ON p.id = a.person_id WHERE a.event_id = :event " \
            "ORDER BY a.person_id = :person DESC, a.person_id LIMIT 20"
    count, attends = Event.connection.select_rows(Event.sanitize_sql([counted, { event: event, person: person }])).first
    names = Event.connection.select_values(Event.sanitize_sql([names, { event: event, person: person }]))
    new(event, count, attends == 1, names)
  end
end
