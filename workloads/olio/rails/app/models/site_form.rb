# What the two forms with files have in common: fields without blanks around them, checks with the site's words, an address.
class SiteForm
  include ActiveModel::Validations

  # A field of so many characters.
  def self.text(name, lengths)
    validates name, length: { in: lengths, message: "#{name}: #{lengths.min} to #{lengths.max} characters" }
  end

  def self.pattern(name, pattern, words)
    validates name, format: { with: pattern, message: "#{name}: #{words}" }
  end

  def self.address
    text :street1, 1..55
    text :street2, 0..55
    text :city, 1..55
    text :state, 1..25
    pattern :zip, /\A\d{5}\z/, "five digits"
    text :country, 1..55
  end

  def initialize(params = {})
    @params = params
  end

  # Each field is a method.
  def self.fields(*names)
    names.each { |name| define_method(name) { field(name) } }
  end

  fields :street1, :street2, :city, :state, :zip, :country, :telephone, :timezone, :summary

  def messages
    errors.map(&:message)
  end

  def image
    file(:image)
  end

  private

  def field(name)
    value = @params[name]
    value.is_a?(String) ? value.strip : ""
  end

  # The bytes of an uploaded file; empty if none was sent.
  def file(name)
    uploaded = @params[name]
    return "".b unless uploaded.respond_to?(:read)

    uploaded.rewind
    uploaded.read.b
  end

  def image_is_jpeg
    errors.add(:base, "image: a JPEG file") unless image.start_with?("\xFF\xD8\xFF".b)
  end

  # The thumbnail of a form that holds. A file that only begins like an image is an error.
  def thumbnail
    Upload.thumbnail(image) || (errors.add(:base, "image: a JPEG file") && nil)
  end

  def create_address(place)
    Address.create!(street1: street1, street2: street2, city: city, state: state, zip: zip, country: country,
                    latitude: place.first, longitude: place.last)
  end
end
