# A person's page, and registration.
class PersonsController < ApplicationController
  def show
    visitor
    @person = Person.with_place.find_by!(username: params[:name])
    @friends = @person.friends
    @is_owner = visitor&.id == @person.id
    @incoming = @is_owner ? @person.requests(:from_id, :to_id) : []
    @outgoing = @is_owner ? @person.requests(:to_id, :from_id) : []
    @relation = visitor && !@is_owner ? @person.relation(visitor.id) : :stranger
    @events = Event.where(submitter_id: @person.id).upcoming.by_date.limit(10).to_a
    show_page "persons/show"
  end

  def new
    @form = PersonForm.new
    show_page "persons/new"
  end

  # Whoever registers is not logged in by it, so there is no token.
  def create
    @form = PersonForm.new(params)
    person = @form.save
    return go("/persons/#{person.username}") if person

    show_page "persons/new", status: 422
  end
end
