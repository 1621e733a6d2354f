package cli

import (
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/show"
)

// tried returns the query of a change that may be a dry run.
func tried(dryRun bool) url.Values {
	query := url.Values{}
	if dryRun {
		query.Set("dry_run", "true")
	}
	return query
}

// sayOrDiffer prints the result of a change, or the difference for a dry run.
func (c *client) sayOrDiffer(cmd *cobra.Command, a answer, err error, dryRun bool) error {
	if err != nil || !dryRun || c.json {
		return c.orSay(cmd, a, err)
	}
	_, err = c.difference(cmd, a)
	return err
}

// applied is the result of applying a document, or of a dry run.
type applied struct{ Params plan }

// difference decodes a response and shows the difference and its cost, unless the output is
// JSON.
func (c *client) difference(cmd *cobra.Command, a answer) (r applied, err error) {
	if err = a.into(&r); err != nil || c.json || c.sawDiff {
		return r, err
	}
	if err = c.printDiff(cmd, r.Params.Diff); err == nil {
		err = printLines(cmd.OutOrStdout(), &r.Params)
	}
	return r, err
}

// warn prints warnings and problems to stderr.
func (c *client) warn(cmd *cobra.Command, r applied) {
	for _, text := range append(r.Params.Warnings, r.Params.Problems...) {
		fmt.Fprintf(cmd.ErrOrStderr(), "sluice: warning: %s\n", show.Clean(text))
	}
}

// conclude prints the result; warnings and problems go to stderr.
func (c *client) conclude(cmd *cobra.Command, a answer, r applied, dryRun bool) error {
	if c.json {
		return c.printJSON(cmd, a)
	}
	c.warn(cmd, r)
	out := cmd.OutOrStdout()
	var err error
	switch {
	case r.Params.Unchanged == "true":
		_, err = fmt.Fprintf(out, "Nothing to change: revision %d.\n", r.Params.Revision)
	case dryRun:
		_, err = fmt.Fprintln(out, "Dry run: nothing was changed.")
	default:
		_, err = fmt.Fprintf(out, "Applied as revision %d.\n", r.Params.Revision)
	}
	return err
}
