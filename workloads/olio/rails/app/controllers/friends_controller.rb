# Requests for friendship, and their answers.
class FriendsController < ApplicationController
  def create
    changing_visitor
    statement = Friendship::CHANGES[text(:action_name)] || raise(BadRequest)
    raise BadRequest if text(:person) == visitor.name

    Friendship.run(statement, visitor.id, text(:person))
    visitor.keep(requests: Friendship.waiting(visitor.id)) if %w[approve reject].include?(text(:action_name))
    go "/persons/#{visitor.name}"
  end

  private

  # `action` in the parameters is Rails' own: the form's field is in the body.
  def text(name)
    name == :action_name ? request.request_parameters["action"].to_s.strip : super
  end
end
