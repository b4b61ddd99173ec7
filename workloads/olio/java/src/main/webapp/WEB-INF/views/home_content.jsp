<%-- What the home page shows to all visitors. --%>
<h1>Events</h1>
<form class="filter" action="/" method="get">
<label>Zip <input name="zip" value="${filter.zip}" maxlength="5"></label>
<label>Day <input name="date" type="date" value="${filter.date}"></label>
<label>Order <select name="order">
<option value="date"${filter.byCreation ? '' : ' selected'}>by date</option>
<option value="created"${filter.byCreation ? ' selected' : ''}>newest first</option>
</select></label>
<button>Show</button>
</form>
<o:events list="${events}"/>
<o:pages links="${pages}"/>
<section class="cloud">
<h2>Tags</h2>
<c:forEach var="tag" items="${cloud}">
<a class="t${tag.size}" href="/tags/${tag.name}">${tag.name}</a>
</c:forEach>
</section>
