<%-- Who attends an event, with the visitor's button. --%>
<%@ tag body-content="empty" pageEncoding="UTF-8" trimDirectiveWhitespaces="true" %>
<%@ taglib prefix="c" uri="jakarta.tags.core" %>
<section id="attendees">
<h2>${attendees.count} attendees</h2>
<ul>
<c:forEach var="name" items="${attendees.names}">
<li><a href="/persons/${name}">${name}</a></li>
</c:forEach>
</ul>
<c:if test="${not empty visitor}">
<form class="live" action="/events/${attendees.event}/${attendees.attends ? 'unattend' : 'attend'}" method="post">
<input type="hidden" name="token" value="${visitor.token}">
<button>${attendees.attends ? 'Unattend' : 'Attend'}</button>
</form>
</c:if>
</section>
