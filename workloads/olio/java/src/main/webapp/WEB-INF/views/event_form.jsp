<%-- A new event. --%>
<o:frame title="Add an event">
<h1>Add an event</h1>
<o:errors/>
<c:choose>
<c:when test="${empty visitor}">
<p>Log in to add an event.</p>
</c:when>
<c:otherwise>
<form action="/events" method="post" enctype="multipart/form-data">
<input type="hidden" name="token" value="${visitor.token}">
<label>Title <input name="title" value="${fn:escapeXml(form.title)}" maxlength="100" required></label>
<label>Summary <input name="summary" value="${fn:escapeXml(form.summary)}" maxlength="100" required></label>
<label>Description <textarea name="description" maxlength="500" required><c:out value="${form.description}"/></textarea></label>
<label>Date <input name="date" type="date" value="${fn:escapeXml(form.date)}" required></label>
<label>Hour <input name="hour" type="number" min="0" max="23" value="${fn:escapeXml(form.hour)}" required></label>
<label>Minute <input name="minute" type="number" min="0" max="59" value="${fn:escapeXml(form.minute)}" required></label>
<label>Time zone <input name="timezone" value="${fn:escapeXml(form.timezone)}" maxlength="25" required></label>
<label>Telephone <input name="telephone" value="${fn:escapeXml(form.telephone)}" maxlength="20" required></label>
<o:address/>
<label>Tags <input name="tags" value="${fn:escapeXml(form.tags)}" required></label>
<label>Photograph <input name="image" type="file" accept="image/jpeg" required></label>
<label>Leaflet <input name="literature" type="file" accept="application/pdf"></label>
<button>Add</button>
</form>
</c:otherwise>
</c:choose>
</o:frame>
