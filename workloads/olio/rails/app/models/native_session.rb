# A session of Rails, which is a cookie that only the site can read.
class NativeSession
  def initialize(request, _response)
    @request = request
  end

  # nil if there is none.
  def values
    @request.session["visitor"]
  end

  def start
    @request.reset_session
  end

  def save(values)
    @request.session["visitor"] = values
  end

  def finish
    @request.reset_session
  end
end
