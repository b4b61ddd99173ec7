# An event's page, and what changes an event.
class EventsController < ApplicationController
  def show
    visitor
    @event = Event.with_place.find(id)
    @tags = Tag.joins("JOIN event_tag et ON et.tag_id = tag.id").where("et.event_id = ?", id).order(:name).pluck(:name)
    @attendees = Attendees.of(id, visitor)
    @comments = Comment.of(id).to_a
    show_page "events/show"
  end

  def new
    @form = EventForm.new
    show_page "events/new"
  end

  def create
    changing_visitor
    @form = EventForm.new(params)
    event = @form.save(visitor)
    return go("/events/#{event.id}") if event

    show_page "events/new", status: 422
  end

  def attend
    change_attendance "INSERT IGNORE INTO attendance (person_id, event_id) SELECT ?, id FROM event WHERE id = ?"
  end

  def unattend
    change_attendance "DELETE FROM attendance WHERE person_id = ? AND event_id = ?"
  end

  def comments
    changing_visitor
    body = text(:comment)
    raise BadRequest unless (1..2_500).cover?(body.length)
    raise ActiveRecord::RecordNotFound if Comment.add(visitor, id, body).zero?

    go "/events/#{id}"
  end

  # The rating stays in the session until the visitor comments.
  def rating
    changing_visitor
    raise BadRequest unless %w[1 2 3 4 5].include?(text(:rating))

    visitor.keep(rating: text(:rating).to_i)
    go "/events/#{id}"
  end

  def delete
    changing_visitor
    Event.atomically do
      event = Event.lock.find(id)
      raise Forbidden unless event.submitter_id == visitor.id

      event.remove
    end
    go "/"
  end

  private

  def id
    params[:id].to_i
  end

  def change_attendance(statement)
    changing_visitor
    Event.atomically do
      Event.run(statement, visitor.id, id)
      @attendees = Attendees.of(id, visitor)
    end
    render "events/_attendees", layout: false
  end
end
