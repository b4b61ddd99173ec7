# Pages of lists, and the links to them.
module Listing
  PAGE = 10
  LINKS = 10
  Link = Struct.new(:label, :href)

  # The page that a query asks for, from 1.
  def self.page(text)
    number = Integer(text.to_s, 10, exception: false) || 1
    (1..1_000).cover?(number) ? number : 1
  end

  def self.offset(page)
    (page - 1) * PAGE
  end

  # That of the current page has no address. `base` ends where `page=` follows.
  def self.links(base, page, events)
    pages = (events + PAGE - 1) / PAGE
    links = []
    links << Link.new("Previous", "#{base}page=#{page - 1}") if page > 1
    (1..[pages, LINKS].min).each { |number| links << Link.new(number, ("#{base}page=#{number}" unless number == page)) }
    links << Link.new("Next", "#{base}page=#{page + 1}") if page < pages
    links
  end
end
