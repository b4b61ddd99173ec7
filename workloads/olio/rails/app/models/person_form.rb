# A new person.
class PersonForm < SiteForm
  fields :username, :password, :password2, :first_name, :last_name, :email

  pattern :username, /\A[A-Za-z0-9]{6,25}\z/, "6 to 25 letters and digits"
  text :password, 1..72
  validate { errors.add(:base, "password2: the same password again") unless password == password2 }
  text :first_name, 1..25
  text :last_name, 1..25
  text :email, 3..90
  pattern :email, /@/, "an address with @"
  pattern :telephone, /\A[0-9 +-]{7,20}\z/, "7 to 20 digits"
  text :timezone, 1..25
  text :summary, 1..2_500
  address
  validate :image_is_jpeg

  # The person, or nil if the form does not hold or somebody has the name.
  def save
    return unless valid? && (thumb = thumbnail)

    place = Upload.geocode(self)
    Person.atomically do
      person = create_person(create_address(place))
      id = person.id
      person.update!(image: Upload.store("persons", id, "P#{id}.jpg", image),
                     thumb: Upload.store("personThumbs", id, "P#{id}t.jpg", thumb))
      person
    end
  rescue ActiveRecord::RecordNotUnique
    errors.add(:base, "username: somebody has it")
    nil
  end

  private

  def create_person(address)
    salt = SecureRandom.hex(8)
    Person.create!(username: username, salt: salt, password: Person.digest(salt, password), first_name: first_name,
                   last_name: last_name, email: email, telephone: telephone, timezone: timezone, summary: summary,
                   address_id: address.id, image: "", thumb: "")
  end
end
