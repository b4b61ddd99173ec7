# The next events and the cloud of tags. Without parameters they come from the cache, where one request in 300 s makes them anew while
# the others send the old ones.
class HomeController < ApplicationController
  WHOLE = "home:anonymous".freeze
  CONTENT = "home:content".freeze
  FRESH = "home:fresh".freeze
  FRESH_S = 300
  LOCK = "home:lock".freeze
  LOCK_S = 5
  CLOUD = 50

  def show
    visitor
    @filter = Filter.new(params)
    page = @filter.plain? ? cached(visitor ? CONTENT : WHOLE) : made
    return render(html: page.html_safe) unless visitor

    @content = page
    show_page "home/show"
  end

  private

  def made
    content = render_content
    visitor ? content : render_whole(content)
  end

  # Fresh, or old while another request makes it, or made here.
  def cached(key)
    values = Cache.get_multi(key, FRESH)
    old = values[key]&.force_encoding("UTF-8")
    return old if old && values[FRESH]

    maker = Cache.add(LOCK, LOCK_S)
    return old if old && !maker

    content = render_content
    whole = render_whole(content)
    keep(whole, content) if maker
    key == WHOLE ? whole : content
  end

  def keep(whole, content)
    Cache.set(WHOLE, whole, 0)
    Cache.set(CONTENT, content, 0)
    Cache.set(FRESH, "1", FRESH_S)
    Cache.delete(LOCK)
  end

  def render_content
    @events = @filter.events.to_a
    @pages = Listing.links(@filter.base, @filter.page, @filter.count)
    @cloud = Tag.cloud(CLOUD)
    render_to_string "home/content", layout: false
  end

  # The page as nobody who is logged in sees it.
  def render_whole(content)
    @content = content
    logged_in = @visitor
    @visitor = nil
    render_to_string "home/show"
  ensure
    @visitor = logged_in
  end
end
