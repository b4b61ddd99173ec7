class ApplicationRecord < ActiveRecord::Base
  self.abstract_class = true

  ATTEMPTS = 5

  # A transaction. What the database ends as a deadlock is begun again.
  def self.atomically(&work)
    attempts ||= 1
    transaction(&work)
  rescue ActiveRecord::Deadlocked
    raise if (attempts += 1) > ATTEMPTS

    retry
  end

  # Runs a statement that changes rows, with bound values, and returns how many.
  def self.run(statement, *values)
    connection.update(sanitize_sql([statement, *values]))
  end
end
