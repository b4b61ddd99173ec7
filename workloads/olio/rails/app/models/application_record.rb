class ApplicationRecord < ActiveRecord::Base
  self.abstract_class = true

  # Runs a statement that changes rows, with bound values, and returns how many.
  def self.run(statement, *values)
    connection.update(sanitize_sql([statement, *values]))
  end
end
