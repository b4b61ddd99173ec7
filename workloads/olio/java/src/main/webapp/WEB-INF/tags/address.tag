<%-- The fields of an address. --%>
<%@ tag body-content="empty" pageEncoding="UTF-8" trimDirectiveWhitespaces="true" %>
<%@ taglib prefix="fn" uri="jakarta.tags.functions" %>
<label>Street <input name="street1" value="${fn:escapeXml(form.street1)}" maxlength="55" required></label>
<label>Street, second line <input name="street2" value="${fn:escapeXml(form.street2)}" maxlength="55"></label>
<label>City <input name="city" value="${fn:escapeXml(form.city)}" maxlength="55" required></label>
<label>State <input name="state" value="${fn:escapeXml(form.state)}" maxlength="25" required></label>
<label>Zip <input name="zip" value="${fn:escapeXml(form.zip)}" maxlength="5" required></label>
<label>Country <input name="country" value="${fn:escapeXml(form.country)}" maxlength="55" required></label>
