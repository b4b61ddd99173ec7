<%-- What surrounds each page: `visitor` and `upcoming` are there if somebody is logged in. --%>
<%@ tag body-content="scriptless" pageEncoding="UTF-8" trimDirectiveWhitespaces="true" %>
<%@ attribute name="title" required="true" %>
<%@ taglib prefix="c" uri="jakarta.tags.core" %>
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title><c:out value="${title}"/> - Olio</title>
<link rel="stylesheet" href="/static/reset.css">
<link rel="stylesheet" href="/static/site.css">
<link rel="stylesheet" href="/static/scaffold.css">
<script defer src="/static/core.js"></script>
<script defer src="/static/effects.js"></script>
<script defer src="/static/drag.js"></script>
<script defer src="/static/controls.js"></script>
<script defer src="/static/validate.js"></script>
<script defer src="/static/stars.js"></script>
<script defer src="/static/live.js"></script>
</head>
<body>
<header>
<a class="logo" href="/"><img src="/static/logo.png" alt="Olio"></a>
<nav>
<a href="/">Events</a>
<a href="/events/new">Add an event</a>
<a href="/persons/new">Register</a>
</nav>
<form class="search" action="/tags" method="post">
<input name="tag" placeholder="Tag" maxlength="30" required>
<button>Search</button>
</form>
<c:choose>
<c:when test="${not empty visitor}">
<div class="visitor">
<p>Hello <a href="/persons/${visitor.name}">${visitor.name}</a>, ${visitor.requests} requests</p>
<form action="/logout" method="post">
<input type="hidden" name="token" value="${visitor.token}">
<button>Log out</button>
</form>
</div>
</c:when>
<c:otherwise>
<form class="login" action="/login" method="post">
<input name="username" placeholder="User name" required>
<input name="password" type="password" placeholder="Password" required>
<button>Log in</button>
</form>
</c:otherwise>
</c:choose>
</header>
<c:if test="${not empty visitor}">
<aside>
<h2>Your next events</h2>
<ul>
<c:forEach var="event" items="${upcoming}">
<li><a href="/events/${event.id}"><c:out value="${event.title}"/></a> <time>${event.starts}</time></li>
</c:forEach>
</ul>
</aside>
</c:if>
<main>
<jsp:doBody/>
</main>
</body>
</html>
