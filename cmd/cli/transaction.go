package cli

import (
	"net/http"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
)

func transactionCommand(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "transaction -f FILE", Short: "Make several changes in one step",
		Long: `Make several changes in one step and one revision, all or none. FILE is JSON and
contains calls of the REST API:

  {"comment": "move the shop, add a service",
   "writes": [
     {"method": "PUT", "path": "/farms/shop",
      "body": {"vport": 8081}},
     {"method": "POST", "path": "/farms/shop/services",
      "body": {"id": "web"}}]}

Each call sees the effects of those before it. If one is refused, nothing is
changed and the error names it.`,
		Example: "  sluice transaction -f move.json --dry-run\n  sluice transaction -f move.json --confirm 5m\n  make-changes | sluice transaction -f -",
		Args:    command.Exactly(0),
	}
	file := cmd.Flags().StringP("file", "f", "", "the transaction; - reads standard input")
	dryRun := cmd.Flags().Bool("dry-run", false, "show the difference and change nothing")
	only := cmd.Flags().String("if-revision", "", "only if this revision is still the newest")
	cmd.MarkFlagRequired("file")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		body, err := command.ReadFile(cmd, *file, maxDocument)
		if err != nil {
			return err
		}
		if *only != "" {
			if _, err := revisionNumber(*only); err != nil {
				return err
			}
		}
		query := command.DryRunQuery(*dryRun)
		a, err := c.Do(cmd.Context(), client.Request{Method: http.MethodPost, Path: "/transactions", Query: query, Body: body, Sources: []string{*file}, IfMatch: *only})
		if err != nil {
			return err
		}
		result, err := c.PrintDifference(cmd, a)
		if err != nil {
			return err
		}
		return c.PrintResult(cmd, a, result, *dryRun)
	}
	return cmd
}
