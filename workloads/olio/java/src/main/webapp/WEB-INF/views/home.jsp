<%-- The home page around what all visitors see. --%>
<o:frame title="Events">
${content}
</o:frame>
