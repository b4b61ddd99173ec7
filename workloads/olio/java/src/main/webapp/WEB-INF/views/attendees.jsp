<%-- The list of attendees alone, after a change. --%>
<o:attendees/>
