# Olio on Rails: what puma starts.
require_relative "config/application"

Olio::Application.initialize!
# The schema is read now, and not by the first request.
ApplicationRecord.descendants.each { |model| [model.primary_key, model.columns] }
run Olio::Application
