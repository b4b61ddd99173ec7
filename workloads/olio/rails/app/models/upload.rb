require "net/http"
require "open3"

# What people upload: thumbnails, places below `media`, and where an address is.
module Upload
  # A thumbnail of a photograph, as JPEG; nil if the file is no image.
  def self.thumbnail(photograph)
    Dir.mktmpdir("olio") do |directory|
      File.binwrite("#{directory}/photograph.jpg", photograph)
      _, _, status = Open3.capture3("vipsthumbnail", "#{directory}/photograph.jpg", "--size", "120x120>", "--output", "#{directory}/thumb.jpg[Q=80]")
      File.binread("#{directory}/thumb.jpg") if status.success? && File.exist?("#{directory}/thumb.jpg")
    end
  end

  # Writes a file, and returns its place: capitals tell it from loaded ones.
  def self.store(kind, id, name, bytes)
    place = format("%<kind>s/%<near>03d/%<far>03d/%<name>s", kind: kind, near: id % 1_000, far: id / 1_000_000 % 1_000, name: name)
    path = Olio::UPLOADS.join("media", place)
    path.dirname.mkpath
    path.binwrite(bytes)
    place
  end

  # Latitude and longitude of a form's address.
  def self.geocode(form)
    address = { street: form.street1, city: form.city, state: form.state, zip: form.zip }
    answer = Net::HTTP.get(URI("#{Olio::GEOCODER}/geocode?#{address.to_query}"))
    place = answer.match(%r{<Latitude>([^<]+)</Latitude>\s*<Longitude>([^<]+)</Longitude>})
    raise "the geocoder does not answer" unless place

    place.captures
  end
end
