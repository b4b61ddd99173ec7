<%-- Links to the pages of a list; the current page is none. --%>
<%@ tag body-content="empty" pageEncoding="UTF-8" trimDirectiveWhitespaces="true" %>
<%@ attribute name="links" required="true" type="java.util.List" %>
<%@ taglib prefix="c" uri="jakarta.tags.core" %>
<%@ taglib prefix="fn" uri="jakarta.tags.functions" %>
<nav class="pages">
<c:forEach var="link" items="${links}">
<c:choose>
<c:when test="${link.current}"><b>${link.label}</b></c:when>
<c:otherwise><a href="${fn:escapeXml(link.href)}">${link.label}</a></c:otherwise>
</c:choose>
</c:forEach>
</nav>
