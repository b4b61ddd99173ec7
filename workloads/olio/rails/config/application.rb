# The application: the parts of Rails that it uses, from the system's packages, without Bundler. Its routes are those of contract.md.
ENV["RAILS_ENV"] ||= "production"

require "rails"
require "active_record/railtie"
require "action_controller/railtie"
require "action_view/railtie"
require "dalli"
require "mysql2"

module Olio
  class Application < Rails::Application
    config.load_defaults 6.1
    config.root = File.expand_path("..", __dir__)
    config.eager_load = true
    config.secret_key_base = SecureRandom.hex(64)
    config.logger = Logger.new($stderr)
    config.log_level = :warn
    config.active_record.pluralize_table_names = false
    config.active_record.belongs_to_required_by_default = false

    # Pages have no header fields about caches.
    [Rack::ETag, Rack::ConditionalGet, Rack::Sendfile, Rack::Runtime, ActionDispatch::HostAuthorization, ActionDispatch::RequestId,
     ActionDispatch::RemoteIp, ActionDispatch::Flash,
     ActionDispatch::ContentSecurityPolicy::Middleware, ActionDispatch::PermissionsPolicy::Middleware].each do |part|
      config.middleware.delete part
    end
    config.action_dispatch.default_headers = {}

    # Sessions are the site's own, in memcached, or those of Rails, in a cookie (see Visitor).
    if ENV.fetch("OLIO_SESSIONS") == "native"
      config.session_store :cookie_store, key: "olio", same_site: :lax
      config.action_dispatch.cookies_serializer = :json
    else
      config.middleware.delete ActionDispatch::Cookies
      config.middleware.delete ActionDispatch::Session::CookieStore
    end
  end

  # The settings that all implementations read from the environment.
  NOW = Time.find_zone("UTC").parse(ENV.fetch("OLIO_NOW"))
  UPLOADS = Pathname(ENV.fetch("OLIO_UPLOADS"))
  GEOCODER = ENV.fetch("OLIO_GEOCODER")
  NATIVE_SESSIONS = ENV.fetch("OLIO_SESSIONS") == "native"
end
