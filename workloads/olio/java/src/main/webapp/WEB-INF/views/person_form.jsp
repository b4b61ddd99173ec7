<%-- A new person. --%>
<o:frame title="Register">
<h1>Register</h1>
<o:errors/>
<form action="/persons" method="post" enctype="multipart/form-data">
<label>User name <input name="username" value="${fn:escapeXml(form.username)}" maxlength="25" required></label>
<label>Password <input name="password" type="password" required></label>
<label>Password again <input name="password2" type="password" required></label>
<label>First name <input name="first_name" value="${fn:escapeXml(form.first_name)}" maxlength="25" required></label>
<label>Last name <input name="last_name" value="${fn:escapeXml(form.last_name)}" maxlength="25" required></label>
<label>E-mail <input name="email" value="${fn:escapeXml(form.email)}" maxlength="90" required></label>
<label>Telephone <input name="telephone" value="${fn:escapeXml(form.telephone)}" maxlength="20" required></label>
<label>Time zone <input name="timezone" value="${fn:escapeXml(form.timezone)}" maxlength="25" required></label>
<label>Summary <textarea name="summary" maxlength="2500" required><c:out value="${form.summary}"/></textarea></label>
<o:address/>
<label>Photograph <input name="image" type="file" accept="image/jpeg" required></label>
<button>Register</button>
</form>
</o:frame>
