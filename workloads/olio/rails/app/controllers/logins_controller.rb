# Visitors log in and out.
class LoginsController < ApplicationController
  COOKIE = "Path=/; HttpOnly; SameSite=Lax".freeze

  def create
    person = Person.find_by(username: text(:username))
    return wrong unless person&.password?(text(:password))

    visitor = Visitor.log_in(person)
    response.headers["Set-Cookie"] = "olio=#{visitor.session}; #{COOKIE}"
    go "/"
  end

  def destroy
    changing_visitor.log_out
    response.headers["Set-Cookie"] = "olio=; Max-Age=0; #{COOKIE}"
    go "/"
  end

  private

  def wrong
    @visitor = nil
    render "logins/wrong", status: 401
  end
end
