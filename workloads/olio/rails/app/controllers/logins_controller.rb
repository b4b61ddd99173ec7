# Visitors log in and out.
class LoginsController < ApplicationController
  def create
    person = Person.find_by(username: text(:username))
    return wrong unless person&.password?(text(:password))

    Visitor.log_in(visitor_session, person)
    go "/"
  end

  def destroy
    changing_visitor.log_out
    go "/"
  end

  private

  def wrong
    @visitor = nil
    render "logins/wrong", status: 401
  end
end
