<?php namespace Olio ?>
<label>Street <input name="street1" value="<?= e(Form::text('street1')) ?>" maxlength="55" required></label>
<label>Street, second line <input name="street2" value="<?= e(Form::text('street2')) ?>" maxlength="55"></label>
<label>City <input name="city" value="<?= e(Form::text('city')) ?>" maxlength="55" required></label>
<label>State <input name="state" value="<?= e(Form::text('state')) ?>" maxlength="25" required></label>
<label>Zip <input name="zip" value="<?= e(Form::text('zip')) ?>" maxlength="5" required></label>
<label>Country <input name="country" value="<?= e(Form::text('country')) ?>" maxlength="55" required></label>
