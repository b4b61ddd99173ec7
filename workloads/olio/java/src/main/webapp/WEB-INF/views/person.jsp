<%-- A person. --%>
<o:frame title="${person.username}">
<h1><c:out value="${person.firstName} ${person.lastName}"/></h1>
<p><img src="/media/${person.thumb}" alt=""> <a href="/media/${person.image}">Photograph</a></p>
<dl>
<dt>User name</dt><dd>${person.username}</dd>
<dt>E-mail</dt><dd><c:out value="${person.email}"/></dd>
<dt>Telephone</dt><dd><c:out value="${person.telephone}"/></dd>
<dt>Time zone</dt><dd><c:out value="${person.timezone}"/></dd>
<dt>Home</dt><dd><c:out value="${person.city}, ${person.state}, ${person.country}"/></dd>
</dl>
<p class="summary"><c:out value="${person.summary}"/></p>
<c:if test="${not empty visitor and visitor.id != person.id}">
<form class="friend" action="/friends" method="post">
<input type="hidden" name="token" value="${visitor.token}">
<input type="hidden" name="person" value="${person.username}">
<c:choose>
<c:when test="${relation == 'FRIEND'}"><p>Friend</p></c:when>
<c:when test="${relation == 'ASKED'}"><button name="action" value="revoke">Revoke request</button></c:when>
<c:when test="${relation == 'ASKS'}"><button name="action" value="approve">Approve</button> <button name="action" value="reject">Reject</button></c:when>
<c:otherwise><button name="action" value="request">Request friendship</button></c:otherwise>
</c:choose>
</form>
</c:if>
<section class="friends">
<h2>Friends</h2>
<ul>
<c:forEach var="friend" items="${friends}">
<li><a href="/persons/${friend.username}"><img src="/media/${friend.thumb}" alt=""> ${friend.username}</a></li>
</c:forEach>
</ul>
</section>
<c:if test="${visitor.id == person.id}">
<section class="requests">
<h2>Requests</h2>
<c:forEach var="name" items="${incoming}">
<form action="/friends" method="post">
<input type="hidden" name="token" value="${visitor.token}">
<input type="hidden" name="person" value="${name}">
<a href="/persons/${name}">${name}</a>
<button name="action" value="approve">Approve</button>
<button name="action" value="reject">Reject</button>
</form>
</c:forEach>
<c:forEach var="name" items="${outgoing}">
<form action="/friends" method="post">
<input type="hidden" name="token" value="${visitor.token}">
<input type="hidden" name="person" value="${name}">
<a href="/persons/${name}">${name}</a>
<button name="action" value="revoke">Revoke</button>
</form>
</c:forEach>
</section>
</c:if>
<section class="posted">
<h2>Events</h2>
<o:events list="${events}"/>
</section>
</o:frame>
