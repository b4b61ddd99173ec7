//! Linear least squares in three unknowns, some of them fixed at zero, for [`crate::laws::usl`].

/// The `solution` with the least sum of squares of `rows · solution − 1`. Unknowns that are not `free` are zero.
///
/// `None` where the rows do not determine it. The method is the normal equations with Gauss–Jordan elimination, with
/// columns scaled to length one.
pub(crate) fn solve_for_ones(rows: &[[f64; 3]], free: [bool; 3]) -> Option<[f64; 3]> {
    let unknowns: Vec<usize> = (0..3).filter(|i| free[*i]).collect();
    let scales: Vec<f64> =
        unknowns.iter().map(|i| rows.iter().map(|row| row[*i].powi(2)).sum::<f64>().sqrt()).collect();
    let term = |row: &[f64; 3], i: usize| row[unknowns[i]] / scales[i];
    let width = unknowns.len();
    // Each equation has one coefficient for each unknown, and the right-hand side.
    let mut equations: Vec<Vec<f64>> = (0..width)
        .map(|i| {
            let products = (0..width).map(|j| rows.iter().map(|row| term(row, i) * term(row, j)).sum());
            products.chain([rows.iter().map(|row| term(row, i)).sum()]).collect()
        })
        .collect();
    for pivot in 0..width {
        // Positive definite unless the columns are dependent, so rows need no exchange.
        let lead = equations[pivot][pivot];
        if lead.is_nan() || lead < 1e-12 {
            return None;
        }
        let leading: Vec<f64> = equations[pivot].iter().map(|term| term / lead).collect();
        let (above, below) = equations.split_at_mut(pivot);
        for equation in above.iter_mut().chain(&mut below[1..]) {
            let factor = equation[pivot];
            equation.iter_mut().zip(&leading).for_each(|(term, lead)| *term -= factor * lead);
        }
        equations[pivot] = leading;
    }
    let mut solution = [0.0; 3];
    for (i, unknown) in unknowns.iter().enumerate() {
        solution[*unknown] = equations[i][width] / scales[i];
    }
    Some(solution)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_fixed_unknown_stays_zero() {
        let rows = [[1.0, 2.0, 3.0], [2.0, 1.0, 1.0], [4.0, 0.5, 2.0]];
        let solution = solve_for_ones(&rows, [true, false, true]).unwrap();
        assert_eq!(solution[1], 0.0);
        assert!(solution[0] != 0.0 && solution[2] != 0.0);
    }

    #[test]
    fn dependent_columns_have_no_solution() {
        assert_eq!(
            solve_for_ones(&[[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [3.0, 6.0, 0.0]], [true, true, false]),
            None
        );
    }

    proptest! {
        #[test]
        fn the_residual_is_at_right_angles_to_every_free_column(
            rows in prop::collection::vec(prop::array::uniform3(0.1..10.0_f64), 6..12),
        ) {
            let Some(solution) = solve_for_ones(&rows, [true; 3]) else { return Ok(()) };
            for column in 0..3 {
                let product: f64 = rows
                    .iter()
                    .map(|row| row[column] * (row.iter().zip(&solution).map(|(r, s)| r * s).sum::<f64>() - 1.0))
                    .sum();
                prop_assert!(product.abs() < 1e-6, "column {column}: {product}");
            }
        }
    }
}
