<%-- Why a request has no page. --%>
<%@ page isErrorPage="true" %>
<c:choose>
<c:when test="${requestScope['jakarta.servlet.error.status_code'] == 400}"><c:set var="title" value="Bad request"/></c:when>
<c:when test="${requestScope['jakarta.servlet.error.status_code'] == 403}"><c:set var="title" value="Not allowed"/></c:when>
<c:when test="${requestScope['jakarta.servlet.error.status_code'] == 404}"><c:set var="title" value="Not found"/></c:when>
<c:otherwise><c:set var="title" value="Out of order"/></c:otherwise>
</c:choose>
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${title} - Olio</title>
</head>
<body>
<h1>${title}</h1>
<p><a href="/">Events</a></p>
</body>
</html>
