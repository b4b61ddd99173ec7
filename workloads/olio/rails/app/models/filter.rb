# What the list of the home page is restricted to. A parameter that is malformed is not there.
class Filter
  attr_reader :zip, :date, :page

  def initialize(params)
    @zip = params[:zip].to_s[/\A\d{5}\z/] || ""
    @date = Filter.day?(params[:date].to_s) ? params[:date] : ""
    @by_creation = params[:order] == "created"
    @page = Listing.page(params[:page])
  end

  def self.day?(text)
    parts = text.match(/\A([1-9]\d{3})-(\d\d)-(\d\d)\z/) or return false
    Date.valid_date?(*parts.captures.map(&:to_i))
  end

  def by_creation?
    @by_creation
  end

  def plain?
    zip.empty? && date.empty? && !by_creation? && page == 1
  end

  def events
    listed = by_creation? ? scope.order(created_at: :desc, id: :desc) : scope.by_date
    listed.limit(Listing::PAGE).offset(Listing.offset(page))
  end

  def count
    scope.count
  end

  # The address of this list, without its page.
  def base
    "/?#{"zip=#{zip}&" unless zip.empty?}#{'order=created&' if by_creation?}#{"date=#{date}&" unless date.empty?}"
  end

  private

  def scope
    events = zip.empty? ? Event.all : Event.joins("JOIN address a ON a.id = event.address_id").where("a.zip = ?", zip)
    return events.upcoming if date.empty?

    events.where("event.starts_at BETWEEN ? AND ?", "#{date} 00:00:00", "#{date} 23:59:59")
  end
end
