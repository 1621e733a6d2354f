package command

import (
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/show"
)

// DryRunQuery returns the query of a change that may be a dry run.
func DryRunQuery(dryRun bool) url.Values {
	query := url.Values{}
	if dryRun {
		query.Set("dry_run", "true")
	}
	return query
}

// FinishOrDiff prints the result of a change, or the difference for a dry run.
func (c *Line) FinishOrDiff(cmd *cobra.Command, a client.Response, err error, dryRun bool) error {
	if err != nil || !dryRun || c.JSON {
		return c.Finish(cmd, a, err)
	}
	_, err = c.PrintDifference(cmd, a)
	return err
}

// Result is the result of applying a document, or of a dry run.
type Result struct{ Params Plan }

// PrintDifference decodes a response and shows the difference and its cost, unless the output is
// JSON.
func (c *Line) PrintDifference(cmd *cobra.Command, a client.Response) (r Result, err error) {
	if err = a.Decode(&r); err != nil || c.JSON || c.diffShown {
		return r, err
	}
	if err = c.PrintDiff(cmd, r.Params.Diff); err == nil {
		err = printLines(cmd.OutOrStdout(), &r.Params)
	}
	return r, err
}

// printWarnings prints warnings and problems to stderr.
func (c *Line) printWarnings(cmd *cobra.Command, r Result) {
	for _, text := range append(r.Params.Warnings, r.Params.Problems...) {
		fmt.Fprintf(cmd.ErrOrStderr(), "sluice: warning: %s\n", show.Clean(text))
	}
}

// PrintResult prints the result; warnings and problems go to stderr.
func (c *Line) PrintResult(cmd *cobra.Command, a client.Response, r Result, dryRun bool) error {
	if c.JSON {
		return c.PrintJSON(cmd, a)
	}
	c.printWarnings(cmd, r)
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
