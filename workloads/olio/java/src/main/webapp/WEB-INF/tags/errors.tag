<%-- What is wrong with a form. --%>
<%@ tag body-content="empty" pageEncoding="UTF-8" trimDirectiveWhitespaces="true" %>
<%@ taglib prefix="c" uri="jakarta.tags.core" %>
<c:if test="${not empty errors}">
<ul class="errors">
<c:forEach var="error" items="${errors}">
<li>${error}</li>
</c:forEach>
</ul>
</c:if>
