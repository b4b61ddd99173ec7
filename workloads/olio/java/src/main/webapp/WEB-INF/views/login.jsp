<%-- Somebody could not log in. --%>
<o:frame title="Log in">
<h1>Log in</h1>
<p class="errors">The user name or the password is wrong.</p>
</o:frame>
