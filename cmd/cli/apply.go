package cli

import (
	"context"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
)

func applyCommand(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "apply -f FILE", Short: "Replace the configuration by a YAML or JSON document",
		Long: `Replace the configuration by a YAML or JSON document. The difference to the
running configuration is shown first; unchanged objects keep their connections,
sessions and counters. The document is applied as a whole or not at all.

Farms and checks that the document does not name are deleted. The deletions are
shown with the traffic they end, and on a terminal you are asked before anything
is deleted. Without a terminal a document that deletes something is refused
unless --yes is given. A document that deletes nothing is applied at once.

With --merge the document holds a part: farms and checks with a new name are
added, those with a known name are replaced, and all others stay.

-f may be repeated and may be a directory: its files *.yaml, *.yml and *.json
are read in the order of their names. All files together form one document.`,
		Example: "  sluice apply -f shop.yaml --dry-run\n  sluice apply -f shop.yaml --comment 'new backend'\n  sluice apply -f shop.yaml --merge\n  sluice apply -f /etc/sluice/farms --yes\n  sluice apply -f farms.yaml -f checks.yaml\n  sluice export | sed s/8080/8081/ | sluice apply -f -",
		Args:    command.Exactly(0),
	}
	files := cmd.Flags().StringArrayP("file", "f", nil, "the document, or a directory of documents; - reads standard input; may be repeated")
	merge := cmd.Flags().Bool("merge", false, "the document is partial: keep farms and checks it does not name")
	dryRun := cmd.Flags().Bool("dry-run", false, "show the difference and change nothing")
	comment := cmd.Flags().String("comment", "", "reason for the change, kept in the history")
	cmd.MarkFlagRequired("file")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		all, err := readDocuments(cmd, *files)
		if err != nil {
			return err
		}
		query := url.Values{}
		if *merge {
			query.Set("merge", "true")
		}
		return all.explained(applyDocuments(c, cmd, all, query, *dryRun, *comment))
	}
	return cmd
}

// applyDocuments shows the difference first. The change then applies only to the configuration that
// the difference was computed for.
func applyDocuments(c *command.Line, cmd *cobra.Command, all *documents, query url.Values, dryRun bool,
	comment string) error {
	tried := client.Request{Query: query}.DryRun().Query
	if comment != "" {
		query.Set("comment", comment)
	}
	if c.ShowAPI && !dryRun || c.ShowYAML { // nothing is planned
		_, err := sendDocument(c, cmd.Context(), all, query, "")
		return err
	}
	plan, err := sendDocument(c, cmd.Context(), all, tried, "")
	if err != nil {
		return err
	}
	planned, err := c.PrintDifference(cmd, plan)
	if err != nil {
		return err
	}
	unchanged := planned.Params.Unchanged == "true"
	if dryRun || unchanged && !c.JSON { // programs get the response of applying, not of planning
		return c.PrintResult(cmd, plan, planned, dryRun)
	}
	if !c.Yes {
		if err := c.Ask(c.Asker(), &planned.Params); err != nil {
			return err
		}
		c.Yes = true // already confirmed
	}
	done, err := sendDocument(c, cmd.Context(), all, query, plan.Header.Get("ETag"))
	if err != nil {
		return err
	}
	var result command.Result
	if err := done.Decode(&result); err != nil {
		return err
	}
	return c.PrintResult(cmd, done, result, false)
}

func sendDocument(c *command.Line, ctx context.Context, all *documents, query url.Values,
	match string) (client.Response, error) {
	return c.Do(ctx, client.Request{Method: http.MethodPut, Path: "/config", Query: query, Body: all.text, Sources: all.names(), ContentType: command.DocumentType, IfMatch: match})
}

func exportCommand(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "export", Short: "Print the configuration as a document: YAML, or JSON with --json",
		Example: "  sluice export > sluice.yaml\n  sluice export --json", Args: command.Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			query := url.Values{"format": {"yaml"}}
			if c.JSON {
				query.Set("format", "json")
			}
			a, err := c.Do(cmd.Context(), client.Request{Method: http.MethodGet, Path: "/config", Query: query})
			return c.FinishJSON(cmd, a, err)
		},
	}
}

func reloadCommand(c *command.Line) *cobra.Command {
	return &cobra.Command{
		Use: "reload", Short: "Apply the file given to `sluice run --config` again",
		Example: "  sluice reload", Args: command.Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := c.Do(cmd.Context(), client.Request{Method: http.MethodPost, Path: "/config/reload"})
			if err != nil {
				return err
			}
			result, err := c.PrintDifference(cmd, a)
			if err != nil {
				return err
			}
			return c.PrintResult(cmd, a, result, false)
		},
	}
}
