"""Ways in which somebody, or a rule, says yes or no to sampling. Each keeps `sampling.approval.Approver`."""
