<%-- Events that have a tag. --%>
<o:frame title="${tag}">
<h1>Events with the tag <c:out value="${tag}"/></h1>
<p>${refcount} events</p>
<o:events list="${events}"/>
<o:pages links="${pages}"/>
</o:frame>
