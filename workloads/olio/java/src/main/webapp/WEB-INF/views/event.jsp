<%-- An event. --%>
<o:frame title="${event.title}">
<h1><c:out value="${event.title}"/></h1>
<p><img src="/media/${event.thumb}" alt=""> <a href="/media/${event.image}">Photograph</a><c:if test="${not empty event.literature}"> <a href="/media/${event.literature}">Leaflet</a></c:if></p>
<dl>
<dt>When</dt><dd><time>${event.starts}</time> <c:out value="${event.timezone}"/></dd>
<dt>Where</dt><dd><c:out value="${event.street1} ${event.street2}, ${event.zip} ${event.city}, ${event.state}, ${event.country}"/></dd>
<dt>Place</dt><dd><c:out value="${event.latitude} ${event.longitude}"/></dd>
<dt>Telephone</dt><dd><c:out value="${event.telephone}"/></dd>
<dt>Submitted by</dt><dd><a href="/persons/${event.submitter}">${event.submitter}</a></dd>
</dl>
<p class="summary"><c:out value="${event.summary}"/></p>
<p class="description"><c:out value="${event.description}"/></p>
<p class="tags">
<c:forEach var="tag" items="${tags}">
<a href="/tags/${tag}">${tag}</a>
</c:forEach>
</p>
<c:if test="${visitor.id == event.submitterId}">
<form action="/events/${event.id}/delete" method="post">
<input type="hidden" name="token" value="${visitor.token}">
<button>Delete</button>
</form>
</c:if>
<o:attendees/>
<section class="comments">
<h2>${fn:length(comments)} comments</h2>
<c:forEach var="comment" items="${comments}">
<article>
<p><a href="/persons/${comment.author}">${comment.author}</a> <time>${comment.written}</time> ${comment.rating} of 5</p>
<p><c:out value="${comment.body}"/></p>
</article>
</c:forEach>
<c:if test="${not empty visitor}">
<form class="rating" action="/events/${event.id}/rating" method="post">
<input type="hidden" name="token" value="${visitor.token}">
<c:forEach var="stars" begin="1" end="5">
<button name="rating" value="${stars}"${stars == visitor.rating ? ' class="chosen"' : ''}>${stars}</button>
</c:forEach>
</form>
<form action="/events/${event.id}/comments" method="post">
<input type="hidden" name="token" value="${visitor.token}">
<textarea name="comment" maxlength="2500" required></textarea>
<button>Comment</button>
</form>
</c:if>
</section>
</o:frame>
