<%-- A list of events. --%>
<%@ tag body-content="empty" pageEncoding="UTF-8" trimDirectiveWhitespaces="true" %>
<%@ attribute name="list" required="true" type="java.util.List" %>
<%@ taglib prefix="c" uri="jakarta.tags.core" %>
<ol class="events">
<c:forEach var="event" items="${list}">
<li>
<a class="event" href="/events/${event.id}"><img src="/media/${event.thumb}" alt=""> <c:out value="${event.title}"/></a>
<time>${event.starts}</time>
<p><c:out value="${event.summary}"/></p>
</li>
</c:forEach>
</ol>
