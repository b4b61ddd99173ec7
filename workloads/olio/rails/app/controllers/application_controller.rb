# What all pages have: the visitor, the frame, and replies that are no pages of the site.
class ApplicationController < ActionController::Base
  class Forbidden < StandardError; end
  class BadRequest < StandardError; end

  # The token of a change is the site's own.
  skip_forgery_protection

  rescue_from(StandardError) do |failure|
    logger.error { failure.full_message }
    problem 500, "Out of order"
  end
  rescue_from(ActiveRecord::RecordNotFound) { problem 404, "Not found" }
  rescue_from(Forbidden) { problem 403, "Not allowed" }
  rescue_from(BadRequest, ActionController::BadRequest) { problem 400, "Bad request" }

  helper_method :token

  def not_found
    problem 404, "Not found"
  end

  private

  def visitor
    return @visitor if defined?(@visitor)

    @visitor = Visitor.find(visitor_session)
  end

  # Where the visitor is kept between requests.
  def visitor_session
    @visitor_session ||= (Olio::NATIVE_SESSIONS ? NativeSession : CachedSession).new(request, response)
  end

  # The visitor of a change, whose form has the session's token.
  def changing_visitor
    raise Forbidden unless visitor && ActiveSupport::SecurityUtils.secure_compare(visitor.token, text(:token))

    visitor
  end

  # The token of the visitor's forms; nil if nobody is logged in.
  def token
    @visitor&.token
  end

  # A field, without blanks around it; empty if it was not sent.
  def text(name)
    value = params[name]
    value.is_a?(String) ? value.strip : ""
  end

  # A page in the frame, which shows three of the visitor's next events.
  def show_page(template, status: 200)
    visitor
    load_frame
    render template, status: status
  end

  def load_frame
    return unless @visitor

    attended = Event.joins("JOIN attendance a ON a.event_id = event.id").where("a.person_id = ?", @visitor.id)
    @upcoming = attended.upcoming.by_date.limit(3).to_a
  end

  # `redirect_to` would add the server's name.
  def go(place)
    head 303, location: place
  end

  def problem(status, title)
    render "shared/problem", status: status, layout: false, locals: { title: title }
  end
end
