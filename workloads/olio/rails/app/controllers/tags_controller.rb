# Events that have a tag.
class TagsController < ApplicationController
  # A search changes nothing, so it has no token.
  def search
    list text(:tag).downcase, 1
  end

  def show
    list params[:tag], Listing.page(params[:page])
  end

  private

  # A word that can be no tag is one that no event has.
  def list(name, page)
    @tag = name
    tag = Tag.find_by(name: name) if name.match?(EventForm::TAG)
    @refcount = tag&.refcount || 0
    @events = @refcount.zero? ? [] : tag.events.by_date.limit(Listing::PAGE).offset(Listing.offset(page)).to_a
    @pages = Listing.links("/tags/#{name}?", page, @refcount)
    show_page "tags/show"
  end
end
